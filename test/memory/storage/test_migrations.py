"""Older databases are brought up to date after a backup; what fails is undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from robotmem_ros.memory import DatabaseUnusableError, Parameters, RobotMemory
from robotmem_ros.memory.storage import Database, migrations
from robotmem_ros.memory.storage.migrations import MIGRATIONS, migrate, schema_version

ADD_MOOD = """
ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
CREATE TABLE moods (name TEXT PRIMARY KEY);
CREATE TRIGGER mood_seen AFTER INSERT ON memories BEGIN
    INSERT OR IGNORE INTO moods VALUES (new.mood);
    SELECT 1;
END;
"""
FAIL_HALF_WAY = "CREATE TABLE half (x); INSERT INTO half VALUES (1);\nINSERT INTO nowhere VALUES (1);\n"


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """A database of version 1 with one memory."""
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("red mug", {"task": {"success": True}})
    return path


def open_with(path: Path, steps: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Opens and closes a database as a program with these migrations would."""
    monkeypatch.setattr(migrations.migrate, "__defaults__", (steps,))
    Database(Parameters(db_path=str(path))).close()


def names(path: Path) -> set[str]:
    """The tables, indexes and triggers of a file."""
    with sqlite3.connect(path) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    return found


def version(path: Path) -> int:
    """The schema version of a file."""
    with sqlite3.connect(path) as connection:
        found = schema_version(connection)
    connection.close()
    return found


def test_a_new_file_gets_the_newest_schema_without_a_backup(version_1: Path) -> None:
    assert version(version_1) == len(MIGRATIONS)
    assert list(version_1.parent.glob("*.bak")) == []


def test_an_older_database_is_migrated_after_a_backup(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names(version_1)
    open_with(version_1, [*MIGRATIONS, ADD_MOOD], monkeypatch)
    assert version(version_1) == len(MIGRATIONS) + 1
    assert names(version_1) >= before | {"moods", "mood_seen"}
    backup = version_1.with_name(f"memory.db.v{len(MIGRATIONS)}.bak")
    assert (version(backup), names(backup)) == (len(MIGRATIONS), before)
    assert backup.stat().st_mode & 0o777 == 0o600
    monkeypatch.undo()
    with RobotMemory(backup, embedding_model="") as memory:
        assert [found.memory.content for found in memory.recall(context_filter={"task.success": True})] == ["red mug"]


def test_steps_run_in_order_and_each_only_once(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [*MIGRATIONS, "CREATE TABLE steps (n); INSERT INTO steps VALUES (2);", "INSERT INTO steps VALUES (3);"]
    open_with(version_1, steps, monkeypatch)
    open_with(version_1, steps, monkeypatch)
    with sqlite3.connect(version_1) as connection:
        assert connection.execute("SELECT n FROM steps ORDER BY rowid").fetchall() == [(2,), (3,)]
    connection.close()


def test_a_migration_that_fails_is_undone_as_a_whole(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names(version_1)
    with pytest.raises(DatabaseUnusableError, match=r"memory.db' cannot be opened \(no such table: nowhere\)"):
        open_with(version_1, [*MIGRATIONS, ADD_MOOD, FAIL_HALF_WAY], monkeypatch)
    assert version(version_1) == len(MIGRATIONS) + 1
    assert names(version_1) == before | {"moods", "sqlite_autoindex_moods_1", "mood_seen"}
    open_with(version_1, [*MIGRATIONS, ADD_MOOD, "CREATE TABLE whole (x);"], monkeypatch)
    assert version(version_1) == len(MIGRATIONS) + 2


def test_a_first_creation_that_fails_leaves_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    with pytest.raises(DatabaseUnusableError, match="no such table: nowhere"):
        open_with(path, [MIGRATIONS[0] + FAIL_HALF_WAY], monkeypatch)
    assert (version(path), names(path)) == (0, set())
    monkeypatch.undo()
    with RobotMemory(path, embedding_model="") as memory:
        assert memory.learn("red mug").memory_id == 1


def test_a_newer_database_is_refused_and_not_touched(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_with(version_1, [*MIGRATIONS, ADD_MOOD], monkeypatch)
    monkeypatch.undo()
    before = version_1.read_bytes()
    with pytest.raises(DatabaseUnusableError, match=r"has schema version \d+, newer than \d+; use a newer"):
        RobotMemory(version_1)
    assert version_1.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("change", ["UPDATE settings SET value = 'abcd' WHERE name = 'schema'", "DELETE FROM settings"])
def test_another_schema_of_the_same_version_is_refused_and_not_touched(
    version_1: Path, change: str, read_only: bool
) -> None:
    with sqlite3.connect(version_1) as connection:
        connection.execute(change)
    connection.close()
    before = version_1.read_bytes()
    told = r"has another schema of version 1 than this program \(digest (abcd|none), here \w{16}\); export it with the"
    with pytest.raises(DatabaseUnusableError, match=told):
        RobotMemory(version_1, read_only=read_only)
    assert version_1.read_bytes() == before


def test_comments_and_blanks_make_no_other_schema(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_with(version_1, [f"-- A comment.\n{MIGRATIONS[0]}  "], monkeypatch)
    with pytest.raises(DatabaseUnusableError, match="another schema of version 1"):
        open_with(version_1, [f"{MIGRATIONS[0]}\nCREATE TABLE another (x);"], monkeypatch)


def test_a_step_that_another_process_ran_meanwhile_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    first, second = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    steps = ["CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);"]
    migrate(first, path, steps)
    # The second read version 0 before the first one began: it finds the step done once it has the lock.
    migrations._run(second, steps, 0)
    assert schema_version(second) == 1
    first.close()
    second.close()
