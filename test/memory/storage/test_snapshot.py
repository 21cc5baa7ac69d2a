"""A read that SQLite fails says what could not be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

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
