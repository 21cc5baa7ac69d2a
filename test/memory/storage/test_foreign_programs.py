"""Other programs read a file, and write no memory."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from robotmem_ros.memory import Kind, Parameters, RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, rows

from ...support.consistency import check, check_file

MUG = NewMemory(Kind.PERCEPTION, "red mug", "default", 1, "map", "", context='{"a": 1}')


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A file."""
    opened = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    yield opened
    opened.close()


WRITES = (
    (
        "INSERT INTO memories (type, collection, content, observed_at, frame_id, map_id, created_at, updated_at) "
        "VALUES ('perception', 'default', 'a red mug', 1, 'map', '', '', '')"
    ),
    "INSERT OR REPLACE INTO memories SELECT * FROM memories",
    "REPLACE INTO memories SELECT * FROM memories",
    "UPDATE memories SET content = 'blue mug'",
    "UPDATE memories SET access_count = 7",
    "UPDATE OR REPLACE memories SET id = 2",
    "UPDATE memories SET status = 'invalidated' WHERE id = 99",
    "DELETE FROM memories",
    "DELETE FROM memories WHERE id = 1",
    "UPDATE objects SET confirmed = 1",
    "DELETE FROM objects",
    "INSERT OR REPLACE INTO objects SELECT * FROM objects",
)


@pytest.fixture
def stranger(database: Database, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another program, which has SQLite and none of our functions; the file holds an object and a fact."""
    database.write(lambda transaction: rows.insert_all(transaction, [MUG, replace(MUG, kind=Kind.FACT)])).result()
    opened = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    opened.execute("PRAGMA foreign_keys = ON")
    yield opened
    opened.close()


@pytest.mark.parametrize("statement", WRITES)
def test_a_program_without_our_functions_cannot_write_memories(
    database: Database, stranger: sqlite3.Connection, statement: str
) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such function: only_robotmem_ros_writes_memories"):
        stranger.execute(statement)
    assert database.write(check).result() == 2


def test_a_program_without_our_functions_reads_and_copies_everything(
    database: Database, stranger: sqlite3.Connection, tmp_path: Path
) -> None:
    database.write(rows.offer_next_texts).result()
    tables = [name for (name,) in stranger.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    assert {"memories", "objects", "memories_fts", "objects_rtree"} <= {*tables}
    for table in tables:
        stranger.execute(f"SELECT * FROM {table}").fetchall()
    assert stranger.execute("SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'mug'").fetchall() == [(1,), (2,)]
    stranger.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    assert check_file(tmp_path / "copy.db") == 2
    if shell := shutil.which("sqlite3"):
        dump = subprocess.run([shell, str(tmp_path / "memory.db"), ".dump"], check=True, capture_output=True).stdout
        subprocess.run([shell, str(tmp_path / "restored.db")], input=dump, check=True, capture_output=True)
        assert check_file(tmp_path / "restored.db") == 2
    assert database.write(check).result() == 2


def test_another_program_finds_the_words_of_a_closed_file_and_none_that_was_changed_or_purged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"

    def found(words: str) -> list[int]:
        sql = "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rank, rowid"
        with closing(sqlite3.connect(path)) as stranger:
            return [memory_id for (memory_id,) in stranger.execute(sql, (words,))]

    with RobotMemory(path, embedding_model="") as memory:
        memory.save_many({"description": f"a zeppelin lands on field {number}"} for number in range(1, 4))
    assert (found("Zeppelins"), found("landing AND 2")) == ([1, 2, 3], [2])
    with RobotMemory(path, embedding_model="") as memory:
        memory.update(1, "a balloon")
        memory.purge(ids=[3])
        assert (found("zeppelin"), found("balloon"), found("3")) == ([2], [1], [])
    assert found("zeppelin OR balloon") == [1, 2]
