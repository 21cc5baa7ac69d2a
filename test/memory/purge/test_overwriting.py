"""A purge overwrites all traces in a sound file, whoever made it, and leaves a damaged one as it is."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory.errors import StorageError

from ...support.consistency import check_file
from ...support.raw_bytes import found, of_words
from ..conftest import OpenMemory
from .test_traces import fill, needles, tell


def test_pages_that_were_held_in_ram_bring_no_trace_back(open_memory: OpenMemory) -> None:
    memory, other = open_memory(), open_memory()
    draw = random.Random(7)
    secret = ["".join(draw.choices("qxzjvkwy", k=12)) for _ in range(150)]
    ids = []
    for number, word in enumerate(secret):
        ids.append(memory.save_perception(f"{word} {word[::-1]}", metadata={word: number}).memory_id)
        fill(memory, 2)
        fill(other, 2)
    memory.purge(ids=ids)
    fill(other, 40)
    fill(memory, 40)
    memory.flush()
    assert found(memory.path, of_words(secret)) == set()


def test_a_file_of_another_program_without_a_pointer_map_is_purged_too(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    fill(memory, 30)
    ids = tell(memory)
    memory.close()
    with sqlite3.connect(memory.path) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    connection.close()
    again = open_memory()
    again.purge(ids=ids)
    assert found(memory.path, needles()) == set()
    again.close()
    assert check_file(memory.path) == 30


def test_a_file_in_which_a_free_block_covers_a_row_is_left_as_it_is(open_memory: OpenMemory) -> None:
    memory = open_memory()
    fill(memory, 30)
    ids = tell(memory)
    memory.close()
    with closing(sqlite3.connect(memory.path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE spare (id INTEGER PRIMARY KEY, text TEXT)")
        connection.executemany("INSERT INTO spare VALUES (?, ?)", [(number, "x" * 50) for number in range(9)])
        connection.execute("DELETE FROM spare WHERE id = 4")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'spare'").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(memory.path.read_bytes())
    start = (page - 1) * size
    block = start + int.from_bytes(data[start + 1 : start + 3], "big")
    data[block + 2 : block + 4] = (100).to_bytes(2, "big")  # into the next row
    memory.path.write_bytes(data)
    again = open_memory()
    with pytest.raises(StorageError, match="malformed"):
        again.purge(ids=ids)
    again.close()
    with closing(sqlite3.connect(memory.path)) as connection:
        assert {text for (text,) in connection.execute("SELECT text FROM spare")} == {"x" * 50}
