"""Every index stays in step with `memories`, whatever is written and by whom."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Parameters, Pose, StorageError
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, changes, rows, vector_rows

from ...support.consistency import check

NUMBERS = st.floats(-1e6, 1e6) | st.integers(-5, 5)
SCALARS = st.none() | st.booleans() | NUMBERS | st.sampled_from(("", "real", "杯子", "a'b", '"q"'))
POINTS = st.lists(NUMBERS, min_size=2, max_size=3)
NAMES = st.sampled_from(("a", "b", "spatial", "target", "x.y", "", "名"))
JSON = st.recursive(
    SCALARS | POINTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)
CONTEXTS = st.dictionaries(NAMES, JSON, max_size=3)
TEXTS = st.sampled_from(("red mug", "红色杯子", 'a "quoted" text', "grip_force 12.5", "x", "mug " * 50))
MEMORIES = st.builds(
    NewMemory,
    kind=st.sampled_from(Kind),
    content=TEXTS,
    collection=st.sampled_from(("default", "lab")),
    observed_at=st.integers(0, 2**62),
    frame_id=st.sampled_from(("map", "odom")),
    map_id=st.sampled_from(("", "upstairs")),
    human_summary=st.just("") | TEXTS,
    context=CONTEXTS.map(json.dumps),
    pose=st.none() | st.builds(Pose, NUMBERS, NUMBERS, NUMBERS),
    label=st.sampled_from(("", "mug", "Desk  LAMP", "杯子")),
    tags=st.sampled_from(((), ("one", "two"))),
    scope_files=st.sampled_from(("", "src/arm.py")),
    scope_entities=st.sampled_from(("", "robot arm")),
)
COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "content": TEXTS,
        "human_summary": TEXTS,
        "context": CONTEXTS.map(json.dumps),
        "confidence": st.just(0.5),
    },
)
RAW = st.sampled_from(
    (
        "DELETE FROM memories WHERE id = ?",
        "UPDATE memories SET frame_id = 'other', map_id = 'm' WHERE id = ?",
        "UPDATE memories SET x = NULL, y = NULL, z = NULL, context = '{}' WHERE id = ?",
        "UPDATE memories SET x = 1.5, y = 2.5, z = NULL WHERE id = ?",
        "UPDATE memories SET label = 'changed', scope_files = 'b.py', scope_entities = 'c' WHERE id = ?",
        "UPDATE memories SET collection = 'lab' WHERE id = ?",
        "UPDATE memories SET collection = 'moved', label = 'changed' WHERE id = ?",
        "UPDATE memories SET status = 'superseded' WHERE id = ?",
        "UPDATE memories SET status = 'active', type = 'fact' WHERE id = ?",
    )
)
STEPS = st.one_of(
    st.tuples(st.just("insert"), MEMORIES),
    st.tuples(st.just("insert all"), st.lists(MEMORIES, max_size=4)),
    st.tuples(st.just("embed"), st.none()),
    st.tuples(st.just("update"), COLUMNS),
    st.tuples(st.just("forget"), st.none()),
    st.tuples(st.just("fail"), MEMORIES),
    st.tuples(st.just("raw"), RAW),
)


class BrokenOffError(Exception):
    """A job that ends half way."""


def run(connection: sqlite3.Connection, step: tuple[str, object], memory_id: int) -> None:
    """Does one thing to the database."""
    action, argument = step
    if action in ("insert", "fail"):
        assert isinstance(argument, NewMemory)
        rows.insert(connection, argument)
        if action == "fail":
            raise BrokenOffError
    elif action == "insert all":
        assert isinstance(argument, list)
        rows.insert_all(connection, argument)
    elif action == "embed":
        found = vector_rows.pending(connection, 0, memory_id)
        vector_rows.store(connection, [(one, text, b"\1\2\3") for one, text in found])
    elif action == "update":
        assert isinstance(argument, dict)
        changes.update(connection, memory_id, argument, None)
    elif action == "forget":
        changes.invalidate(connection, memory_id, "a test")
    else:
        connection.execute(str(argument), (memory_id,))


@settings(max_examples=120)
@given(steps=st.lists(st.tuples(STEPS, st.integers(1, 8)), min_size=1, max_size=25))
def test_all_indexes_hold_what_the_memories_say_after_any_steps(steps: list[tuple[tuple[str, object], int]]) -> None:
    database = Database(Parameters(db_path=":memory:"))
    try:
        for step, memory_id in steps:
            done = database.write(lambda connection, step=step, memory_id=memory_id: run(connection, step, memory_id))  # type: ignore[misc]
            assert done.exception() is None or step[0] in ("fail", "update", "forget")
        database.write(check).result()
    finally:
        database.close()


def test_an_id_never_changes(tmp_path: Path) -> None:
    database = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    new = NewMemory(Kind.FACT, "red mug", "default", 1, "map", "")
    memory_id = database.write(lambda connection: rows.insert(connection, new)).result()
    with pytest.raises(StorageError, match="the id of a memory never changes"):
        database.write(lambda connection: connection.execute("UPDATE memories SET id = id + 1")).result()
    assert database.write(check).result() == memory_id == 1
    database.close()


def test_a_program_without_our_functions_cannot_write_half_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    database = Database(Parameters(db_path=str(path)))
    new = NewMemory(Kind.FACT, "red mug", "default", 1, "map", "", context='{"a": 1}')
    database.write(lambda connection: rows.insert(connection, new)).result()
    stranger = sqlite3.connect(path, isolation_level=None)
    for statement in ("UPDATE memories SET content = 'blue mug'", "UPDATE memories SET context = '{}'"):
        with pytest.raises(sqlite3.OperationalError, match="no such function"):
            stranger.execute(statement)
    insert = (
        "INSERT INTO memories (type, collection, content, observed_at, frame_id, map_id, created_at, updated_at) "
        "VALUES ('perception', 'default', 'a red mug', 1, 'map', '', '', '')"
    )
    for statement in (insert, insert.replace("INSERT", "INSERT OR REPLACE"), "REPLACE" + insert.removeprefix("INSERT")):
        with pytest.raises(sqlite3.OperationalError, match="no such function: only_robotmem_ros_inserts_memories"):
            stranger.execute(statement)
    stranger.execute("UPDATE memories SET status = 'invalidated'")
    stranger.close()
    assert database.write(check).result() == 1
    database.close()
