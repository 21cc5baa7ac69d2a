"""Older databases are brought up to date after a backup; what fails is undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from robotmem_ros.memory import DatabaseUnusableError, Parameters, RobotMemory
from robotmem_ros.memory.database import Database, contribution_schema, migrations
from robotmem_ros.memory.database.connection import connect
from robotmem_ros.memory.database.functions import register
from robotmem_ros.memory.database.migrations import MIGRATIONS, migrate, schema_version

from ..providers import WordVectors
from .consistency import check_file

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


def test_the_words_and_positions_of_an_older_database_are_indexed_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    old = connect(path, busy_timeout=1.0, synchronous="normal", read_only=False)
    migrate(old, path, MIGRATIONS[:3])
    old.execute("INSERT INTO settings VALUES ('tokens', 'jieba')")
    old.execute(
        "INSERT INTO memories "
        "(collection, type, content, observed_at, frame_id, map_id, x, y, z, created_at, updated_at) "
        "VALUES ('default', 'fact', 'two red mugs', 1, 'map', '', 1, 2, 3, :now, :now)",
        {"now": "2026-01-01T00:00:00+00:00"},
    )
    old.close()
    with RobotMemory(path, embedding_model="") as memory:
        assert [found.content for found in memory.recall("mug", min_confidence=0.0)] == ["two red mugs"]
        target = {"field": "position", "target": [1.0, 2.0, 5.0]}
        assert [found.distance for found in memory.recall(spatial_sort=target, min_confidence=0.0)] == [2.0]
    assert check_file(path) == 1


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
        assert [found.content for found in memory.recall(context_filter={"task.success": True})] == ["red mug"]


def test_an_older_file_can_give_free_pages_back_from_now_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
    connection.close()
    open_with(path, MIGRATIONS[:1], monkeypatch)
    for steps, expected in ((MIGRATIONS[:1], 0), (MIGRATIONS, 2)):
        open_with(path, steps, monkeypatch)
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA auto_vacuum").fetchone() == (expected,)
        connection.close()


def test_facts_of_before_there_were_rules_are_found_as_duplicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.db"
    open_with(path, MIGRATIONS[:3], monkeypatch)
    monkeypatch.undo()
    with sqlite3.connect(path) as connection:
        register(connection)
        connection.execute(
            "INSERT INTO memories (collection, type, content, observed_at, frame_id, map_id, created_at, updated_at) "
            "VALUES ('default', 'fact', 'Hold the glass with 5 N', 1, 'map', '', ?1, ?1)",
            ("2026-01-01T00:00:00.000000+00:00",),
        )
    connection.close()
    with RobotMemory(path, embedding_model="") as memory:
        assert memory.explain(1).decisions == ()
        assert memory.learn("with 5 N, hold the glass").memory_id == 1
        assert memory.learn("Hold the glass with 6 N").contradicts == (1,)
    assert check_file(path) == 2


def test_what_contradicts_and_what_is_like_in_wording_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.db"
    open_with(path, MIGRATIONS[:13], monkeypatch)
    monkeypatch.undo()
    with sqlite3.connect(path) as connection:
        register(connection)
        connection.create_function("wording_keys", 3, lambda *fact: "[1, 2]")  # what that step knew
        texts = ("Hold the glass with 5 N", "Hold the glass with 6 N", "Push the crate")
        connection.executemany(
            "INSERT INTO memories (collection, type, content, observed_at, frame_id, map_id, created_at, updated_at) "
            "VALUES ('default', 'fact', ?1, ?2, 'map', '', ?3, ?3)",
            [(text, moment, "2026-01-01T00:00:00.000000+00:00") for moment, text in enumerate(texts, start=1)],
        )
        connection.execute("INSERT INTO contradictions VALUES (1, 2, 'force'), (2, 1, 'force')")
    connection.close()
    with RobotMemory(path, embedding_model="") as memory:
        assert [(one.memory_id, one.is_newer) for one in memory.explain(1).contradictions] == [(2, True)]
        assert memory.learn("with 5 N, hold the glass").memory_id == 1
        memory.purge(ids=[2])
        assert memory.explain(1).contradictions == ()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM contradictions").fetchall() == []
    connection.close()
    assert check_file(path) == 2


def test_what_was_learned_again_stays_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.db"
    open_with(path, MIGRATIONS[: MIGRATIONS.index(contribution_schema.CONTRIBUTION_TABLES)], monkeypatch)
    monkeypatch.undo()
    text = "Hold the glass with 5 N"
    with sqlite3.connect(path) as connection:
        register(connection)
        connection.execute(
            "INSERT INTO memories (collection, type, content, observed_at, frame_id, map_id, created_at, updated_at, "
            "times_learned, session_id, context) VALUES ('default', 'fact', ?1, 9, 'map', '', ?2, ?2, 2, 's1', ?3)",
            (text, "2026-01-01T00:00:00.000000+00:00", '{"arm":"left"}'),
        )
        connection.execute("INSERT INTO memory_tags VALUES (1, 'x', 'user')")
        connection.execute("INSERT INTO decisions VALUES (1, 0, 'tag', 'x', 'caller')")
        connection.execute(
            "INSERT INTO repetitions VALUES (1, 1, '2026-01-02T00:00:00.000000+00:00', 's2', ?, 'exact', 1.0, 0.8, 5)",
            ("with 5 N, hold the glass",),
        )
    connection.close()
    with RobotMemory(path, embedding_model="") as memory:
        (again,) = memory.explain(1).repetitions
        assert (again.content, again.session_id, again.gave) == ("with 5 N, hold the glass", "s2", {})
        assert memory.learn(text, {"shift": 3}, "s3").memory_id == 1
        memory.purge(session_id="s2")
        (found,) = memory.recall("glass", min_confidence=0.0)
        assert (found.context["arm"], found.context["shift"], found.tags) == ("left", 3, ("x",))
        assert memory.explain(1).times_learned == 2
    assert check_file(path) == 1


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


def test_a_step_that_another_process_ran_meanwhile_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    first, second = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    steps = ["CREATE TABLE one (x);"]
    migrate(first, path, steps)
    # The second read version 0 before the first one began: it finds the step done once it has the lock.
    migrations._run(second, steps[0], 0)
    assert schema_version(second) == 1
    first.close()
    second.close()


def test_vectors_of_each_memory_become_vectors_of_each_text(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = connect(path, busy_timeout=1.0, synchronous="normal", read_only=False)
    migrate(connection, path, MIGRATIONS[:3])
    model = WordVectors()
    connection.execute("INSERT INTO settings VALUES ('embedding_model', ?)", (model.name,))
    for number, text in enumerate(("red mug", "blue mug", "red mug", "green plant"), start=1):
        connection.execute(
            "INSERT INTO memories (collection, type, content, observed_at, frame_id, map_id, created_at, updated_at) "
            "VALUES ('default', 'fact', ?1, ?2, 'map', '', ?3, ?3)",
            (text, number, "2026-01-01T00:00:00.000000+00:00"),
        )
        if number < 4:
            vector = model.embed_one(text).tobytes()
            connection.execute("INSERT INTO memories_vec (memory_id, embedding) VALUES (?, ?)", (number, vector))
    connection.close()
    model = WordVectors()
    with RobotMemory(path, embedder=model, clock=lambda: 5) as memory:
        memory.flush()
        assert model.embedded == ["green plant"]
        assert memory.status().pending_vectors == 0
        assert [found.id for found in memory.recall("red mug", n=2)] == [3, 1]
    assert check_file(path) == 4
    with sqlite3.connect(path) as again:
        assert again.execute("SELECT count(*) FROM vectors").fetchone() == (3,)
    again.close()
