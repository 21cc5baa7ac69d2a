"""Bytes of a file that hold nothing are zeroed, and all that it holds stays."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from robotmem_ros.memory.storage.unused_bytes import UnusedBytes

ALL = "SELECT id, word, text FROM rows ORDER BY id", "SELECT word FROM words ORDER BY word"


def make(path: Path, page_size: int, *, pointer_map: bool = True, seed: int = 1) -> list[str]:
    """Make a file with gaps, freed blocks and free pages that hold words which were deleted; return these."""
    draw = random.Random(seed)
    secret: list[str] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute(f"PRAGMA auto_vacuum = {2 * pointer_map}")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, word TEXT UNIQUE, text TEXT)")
        connection.execute("CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID")
        connection.execute("BEGIN")
        for number in range(1500):
            word = "".join(draw.choices("qxzjvkwy", k=12))
            connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, word, "p" * draw.randrange(60)))
            connection.execute("INSERT INTO words VALUES (?)", (word,))
            if number % 3 == 0 or 600 < number < 1000:
                secret.append(word)
        connection.execute("COMMIT")
        for word in secret:
            connection.execute("DELETE FROM rows WHERE word = ?", (word,))
            connection.execute("DELETE FROM words WHERE word = ?", (word,))
    return secret


def content(path: Path) -> list[list[object]]:
    """All rows of a sound file."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [connection.execute(sql).fetchall() for sql in ALL]


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_no_deleted_word_is_left_and_every_row_is(tmp_path: Path, page_size: int) -> None:
    path = tmp_path / "rows.db"
    secret = make(path, page_size)
    before = content(path)
    assert sum(word.encode() in path.read_bytes() for word in secret) > 100
    with path.open("r+b") as file:
        assert UnusedBytes(file).clear() > 0
        assert UnusedBytes(file).clear() == 0
    assert not any(word[1:-1].encode() in path.read_bytes() for word in secret)
    assert content(path) == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone()[0] or page_size == 65536
        connection.executemany("INSERT INTO words VALUES (?)", [(f"new {number}",) for number in range(2000)])
        connection.commit()
    assert len(content(path)[1]) == len(before[1]) + 2000


def test_a_file_that_cannot_be_read_so_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    make(path, 4096, pointer_map=False)
    whole = path.read_bytes()
    for data, why in ((whole, "no pointer map"), (b"no database" * 99, "no SQLite file"), (b"", "no SQLite file")):
        with pytest.raises(ValueError, match=why):
            UnusedBytes(BytesIO(data))


def test_damaged_pages_are_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    make(path, 4096)
    whole = path.read_bytes()
    draw = random.Random(5)
    told = 0
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(30):
            data[draw.randrange(100, len(data))] = draw.randrange(256)
        file = BytesIO(bytes(data))
        try:
            UnusedBytes(file).clear()
        except ValueError as error:
            told += "damaged" in str(error)
            assert file.getvalue() == data
    assert told > 20


def test_a_damaged_list_of_free_pages_changes_no_other_page(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    make(path, 512)
    data = bytearray(path.read_bytes())
    trunk = 512 * (int.from_bytes(data[32:36], "big") - 1)
    assert trunk > 0
    data[trunk + 4 : trunk + 8] = ((512 + 96 - 8) // 4).to_bytes(4, "big")  # its list would reach into the next page
    file = BytesIO(bytes(data))
    with pytest.raises(ValueError, match="damaged"):
        UnusedBytes(file).clear()
    assert file.getvalue() == data


def test_free_blocks_outside_of_the_cells_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    make(path, 4096)
    whole = path.read_bytes()
    told = 0
    pointers = whole[4096 : 2 * 4096]
    for start in range(2 * 4096, len(whole), 4096):
        is_in_use = pointers[5 * (start // 4096 - 2)] == 5
        if is_in_use and whole[start] == 13:
            data = bytearray(whole)
            # A block of 20 bytes in the array of cells, which SQLite would read as rows that are not there.
            data[start + 1 : start + 3] = (10).to_bytes(2, "big")
            data[start + 10 : start + 14] = bytes((0, 0, 0, 20))
            with pytest.raises(ValueError, match="damaged"):
                UnusedBytes(BytesIO(bytes(data))).clear()
            told += 1
    assert told > 3
