"""A read that SQLite fails says what could not be read; what is read once is read again when the file changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import StorageError
from robotmem_ros.memory.storage.snapshot import Snapshot


@pytest.mark.parametrize("read", [Snapshot.rows, Snapshot.row, Snapshot.mappings, Snapshot.ids, Snapshot.array])
def test_what_sqlite_raises_is_a_storage_error_that_says_what_failed(read: Callable[[Snapshot, str], object]) -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(StorageError, match=r"^could not read 'a': no such table: missing$") as raised,
    ):
        read(Snapshot(connection, "read 'a'"), "SELECT id FROM missing")
    assert isinstance(raised.value.cause, sqlite3.OperationalError)
    assert not raised.value.is_damage


def test_what_was_read_once_is_read_again_after_a_write_of_any_program(tmp_path: Path) -> None:
    def count(snapshot: Snapshot) -> int:
        return int(snapshot.row("SELECT count(*) FROM memories")[0])

    path, counts = tmp_path / "memory.db", list[int]()
    with RobotMemory(path, embedding_model="") as memory, RobotMemory(path, embedding_model="") as other:
        for writer in (memory, other):
            for _ in range(2):
                with memory.parts.database.snapshot() as snapshot:
                    counts.append(snapshot.read_once(count))
            writer.save_perception("a red mug")
        with memory.parts.database.snapshot() as snapshot:
            counts.append(snapshot.read_once(count))
    assert counts == [0, 0, 1, 1, 2]
