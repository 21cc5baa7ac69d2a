"""Every index stays in step with `memories`, whatever is written; and other programs write nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, MemoryNotFoundError, Parameters, Pose
from robotmem_ros.memory.config.budgets import Budget, Measure
from robotmem_ros.memory.errors import NoteError
from robotmem_ros.memory.geometry import Covariance, Estimate
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import (
    Database,
    changes,
    examination,
    object_rows,
    purge_rows,
    retention_rows,
    rows,
    session_rows,
    vector_rows,
)
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction
from robotmem_ros.memory.tracks import Track

from ...support.consistency import check
from ...support.examples import examples

ROOT = Path(__file__).resolve().parents[3]
MUG = NewMemory(Kind.PERCEPTION, "red mug", "default", 1, "map", "", context='{"a": 1}')

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
        "label": st.sampled_from(("", "lamp", "杯子")),
        "confidence": st.just(0.5),
    },
)
MOVES = st.sampled_from(
    (
        {"frame_id": "other", "map_id": "m"},
        {"x": None, "y": None, "z": None, "context": "{}"},
        {"x": 1.5, "y": 2.5, "z": None},
        {"x": 1.52, "y": 2.5, "z": 0.5},
        {"label": "changed", "scope_files": "b.py", "scope_entities": "c"},
        {"collection": "lab"},
        {"collection": "moved", "label": "changed"},
        {"status": "superseded"},
        {"status": "active"},
    )
)
STEPS = st.one_of(
    st.tuples(st.just("insert"), MEMORIES),
    st.tuples(st.just("insert all"), st.lists(MEMORIES, max_size=4)),
    st.tuples(st.just("embed"), st.none()),
    st.tuples(st.just("update"), COLUMNS),
    st.tuples(st.just("move"), MOVES),
    st.tuples(st.sampled_from(("forget", "restore", "delete", "rebuild", "index texts", "consolidate")), st.none()),
    st.tuples(st.sampled_from(("evict", "purge", "track", "merge")), st.none()),
    st.tuples(st.just("fail"), MEMORIES),
)
DERIVED = (
    "memories_fts_docsize", "memory_tags", "objects_rtree", "vectors", "memories_vec",
    "fact_links",
)  # fmt: skip


class BrokenOffError(Exception):
    """A job that ends half way."""


REFUSALS = (BrokenOffError, MemoryNotFoundError, NoteError)


def run(transaction: Transaction, step: tuple[str, object], memory_id: int) -> None:
    """Does one thing to the database."""
    action, argument = step
    if action in ("insert", "fail"):
        assert isinstance(argument, NewMemory)
        insert(transaction, [argument])
        if action == "fail":
            raise BrokenOffError
    elif action == "insert all":
        assert isinstance(argument, list)
        insert(transaction, argument)
    elif action == "embed":
        found = vector_rows.without_vector(transaction, vector_rows.START, memory_id)
        vector_rows.store(transaction, [(row.memory_id, row.text, [b"\1\2\3"]) for row in found])
    elif action == "update":
        assert isinstance(argument, dict)
        changes.update(transaction, memory_id, argument, None)
    elif action == "move":
        assert isinstance(argument, dict)
        if None in argument.values() and object_rows.is_object(transaction, memory_id):
            raise BrokenOffError  # an object has a position
        rows.update(transaction, memory_id, argument)
    elif action == "rebuild":
        examination.rebuild(transaction)
    else:
        OTHERS[action](transaction, memory_id)


def insert(transaction: Transaction, new: Sequence[NewMemory]) -> None:
    """Stores memories; notes are of a file that was forgotten."""
    rows.insert_all(transaction, new)


def consolidate(transaction: Transaction, memory_id: int) -> None:
    """Lets a memory stand for the two before it: one superseded, one in its group."""
    one, two, kept = (session_fact(transaction, memory_id - before) for before in (2, 1, 0))
    session_rows.supersede(transaction, one, kept, "2026-01-01T00:00:00")
    session_rows.set_group(transaction, kept, [two])


def session_fact(snapshot: Snapshot, memory_id: int) -> session_rows.SessionFact:
    sql = "SELECT id, content, category, context, frame_id, map_id, confidence FROM memories WHERE id = ?"
    row = snapshot.row(sql, (memory_id,))
    if row is None:
        raise BrokenOffError
    return session_rows.SessionFact(*row)


def evict(transaction: Transaction, memory_id: int) -> None:
    """Keeps as many rows as this."""
    budget = Budget(Measure.ROWS, memory_id)
    chosen = retention_rows.eviction_candidates(transaction, budget, now=10**18, used_bytes=0, limit=3)
    retention_rows.evict(transaction, chosen, "rows")


def track(transaction: Transaction, memory_id: int) -> None:
    """Makes an object of a memory that has a position."""
    sql = "SELECT x, y, z FROM memories WHERE id = ? AND x IS NOT NULL AND z IS NOT NULL"
    at = transaction.row(sql, (memory_id,))
    if at is None or object_rows.is_object(transaction, memory_id):
        raise BrokenOffError
    place = Estimate(at, Covariance(1, 0, 0, 1, 0, 1))
    seen = Track(memory_id, "mug", "{}", place, {"mug": 1}, 1, 1, 1, 0.5, 1.0, 1, True)
    object_rows.insert(transaction, [(seen, "")])


def merge(transaction: Transaction, memory_id: int) -> None:
    """Makes an object a part of another one."""
    objects = [key for (key,) in transaction.rows("SELECT memory_id FROM objects WHERE memory_id <> ?", (memory_id,))]
    if not objects or not object_rows.is_object(transaction, memory_id):
        raise BrokenOffError
    object_rows.supersede(transaction, memory_id, by=objects[0])


OTHERS: Mapping[str, Callable[[Transaction, int], object]] = {
    "forget": lambda transaction, memory_id: changes.invalidate(transaction, [memory_id], "a test"),
    "restore": lambda transaction, memory_id: changes.restore(transaction, [memory_id]),
    "index texts": lambda transaction, memory_id: rows.offer_next_texts(transaction),
    "track": track,
    "merge": merge,
    "delete": lambda transaction, memory_id: rows.delete(transaction, [memory_id, memory_id + 2]),
    "consolidate": consolidate,
    "evict": evict,
    "purge": lambda transaction, memory_id: purge_rows.delete_batch(
        transaction, purge_rows.Selection(ids=(memory_id,)), 5
    ),
}


@settings(max_examples=examples(75))
@given(
    first=st.lists(MEMORIES, min_size=8, max_size=8),
    steps=st.lists(st.tuples(STEPS, st.integers(1, 8)), min_size=1, max_size=25),
)
def test_all_indexes_hold_what_the_memories_say_after_any_steps(
    first: list[NewMemory], steps: list[tuple[tuple[str, object], int]]
) -> None:
    database = Database(Parameters(db_path=":memory:"))
    try:
        database.write(lambda transaction: insert(transaction, first)).result()
        for step, memory_id in steps:
            done = database.write(lambda transaction, step=step, memory_id=memory_id: run(transaction, step, memory_id))  # type: ignore[misc]
            error = done.exception()
            assert error is None or isinstance(error, REFUSALS), error
        database.write(check).result()
        database.write(check_nothing_is_left).result()
    finally:
        database.close()


def check_nothing_is_left(transaction: Transaction) -> None:
    """Deletes all memories, and checks that nothing is left of them in what was derived from them."""
    rows.delete(transaction, [memory_id for (memory_id,) in transaction.rows("SELECT id FROM memories")])
    left = {table: transaction.row(f"SELECT count(*) FROM {table}")[0] for table in DERIVED}
    assert left == dict.fromkeys(DERIVED, 0)
    assert {*rows.totals(transaction).values()} == {0}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A file."""
    opened = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    yield opened
    opened.close()


def test_counting_reads_no_memory(database: Database) -> None:
    """A million rows would take a second, and a node tells its status each second."""
    traced: list[str] = []
    with database.snapshot() as snapshot:
        snapshot._connection.set_trace_callback(traced.append)
        assert (rows.totals(snapshot)["memory"], vector_rows.lacking(snapshot)) == (0, 0)
        snapshot._connection.set_trace_callback(None)
        plans = [step for sql in traced for *_, step in snapshot.rows(f"EXPLAIN QUERY PLAN {sql}")]
    assert len(reads := [step for step in plans if "memories" in step.replace("memories_vec", "")]) == 6
    assert all("USING COVERING INDEX" in step for step in reads)


def test_what_is_indexed_is_written_by_the_one_path_alone() -> None:
    """An index would not follow."""
    followed = {"status", *rows.OFFERED, "id", "content_hash"}
    for path in (ROOT / "robotmem_ros").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name == "rows.py":
            continue
        assert not re.search(r"(INSERT|REPLACE)[ A-Z]* INTO memories\b|DELETE FROM memories\b", source), path
        for assignments in re.findall(r"UPDATE memories SET (.*?)WHERE", source, re.DOTALL):
            assert not followed & {*re.findall(r"(\w+) = ", assignments)}, path
