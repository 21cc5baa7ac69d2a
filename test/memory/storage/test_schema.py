"""A new file gets the schema as a whole; a file of another schema is refused and not touched."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from robotmem_ros.memory import DatabaseUnusableError, RobotMemory
from robotmem_ros.memory.storage import schema
from robotmem_ros.memory.storage.schema import SCHEMA, VERSION, create_or_check, schema_version


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with one memory."""
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("red mug", {"task": {"success": True}})
    return path


def test_a_first_creation_that_fails_leaves_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
        create_or_check(connection, path, f"{SCHEMA}\nINSERT INTO nowhere VALUES (1);\n")
    assert schema_version(connection) == 0
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()
    with RobotMemory(path, embedding_model="") as memory:
        assert memory.learn("red mug").memory_id == 1


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("change", ["UPDATE settings SET value = 'abcd' WHERE name = 'schema'", "DELETE FROM settings"])
def test_another_schema_of_the_same_version_is_refused_and_not_touched(
    file: Path, change: str, read_only: bool
) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(change)
    connection.close()
    before = file.read_bytes()
    message = r"has another schema than this program \(version 1, digest (abcd|none); here 1, \w{16}\); export it with"
    with pytest.raises(DatabaseUnusableError, match=message):
        RobotMemory(file, read_only=read_only)
    assert file.read_bytes() == before


def test_comments_and_blanks_make_no_other_schema(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "SCHEMA", f"-- A comment.\n{SCHEMA}  ")
    RobotMemory(file).close()
    monkeypatch.setattr(schema, "SCHEMA", f"{SCHEMA}\nCREATE TABLE another (x);")
    with pytest.raises(DatabaseUnusableError, match="another schema than this program"):
        RobotMemory(file)


def test_a_schema_that_another_process_created_meanwhile_is_not_created_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    first, second = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    steps = "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);"
    create_or_check(first, path, steps)
    # The second found the file empty before the first one began: it finds the schema once it has the lock.
    schema._create(second, steps)
    assert schema_version(second) == VERSION
    first.close()
    second.close()
