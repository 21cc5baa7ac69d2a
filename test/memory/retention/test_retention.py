"""Retention takes exactly what a brute-force oracle takes, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Parameters
from robotmem_ros.memory import retention as module
from robotmem_ros.memory.retention import Report, Retention
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.retention_rows import evict, removal_counts

from ...support.consistency import check
from ...support.examples import examples
from ...support.retention.oracle import Oracle, Part
from ...support.retention.worlds import NOW, PLAIN, Plain, ids, opened, stored

PARTS = st.tuples(st.sampled_from((None, "default", "lab")), st.sampled_from((None, "fact", "perception")))
PART_BUDGETS = st.lists(
    st.tuples(PARTS, st.sampled_from(("rows", "bytes", "days")), st.integers(0, 12)),
    max_size=4,
    unique_by=lambda budget: budget[:2],
)
_FACTOR = {"rows": 1, "bytes": 60, "days": 30}


def retention(database: Database, **options: object) -> Retention:
    """Retention by these parameters at the time of the worlds."""
    parameters = Parameters().changed(**options)
    return Retention(database, lambda: parameters, lambda: NOW)


def written(budgets: Sequence[tuple[Part, str, int]]) -> str:
    """Budgets as the parameter has them."""
    return ", ".join(
        f"{part[0] or '*'}{'/' + part[1] if part[1] else ''}: {amount * _FACTOR[unit]} {unit}"
        for part, unit, amount in budgets
    )


def told(report: Report) -> dict[tuple[str, str, str], int]:
    """How many went, by budget, collection and kind."""
    return {(share.reason.value, share.collection, share.kind.value): share.memories for share in report.shares}


@settings(max_examples=examples(60))
@given(world=st.lists(PLAIN, max_size=40), budgets=PART_BUDGETS, rows=st.sampled_from((0, 0, 5, 20)))
def test_retention_keeps_the_memories_that_the_oracle_keeps(
    world: list[Plain], budgets: list[tuple[Part, str, int]], rows: int
) -> None:
    if rows:
        budgets = [budget for budget in budgets if budget[:2] != ((None, None), "rows")]
    oracle = Oracle(world)
    narrow_first = sorted(
        [*budgets, *([((None, None), "rows", rows)] if rows else [])],
        key=lambda budget: (
            budget[1] != "days", 2 * (budget[0][0] is None) + (budget[0][1] is None), budget[0][0] or "",
            budget[0][1] or "", budget[1] == "bytes",
        ),
    )  # fmt: skip
    for part, unit, amount in narrow_first:
        {"days": oracle.age, "rows": oracle.rows, "bytes": oracle.bytes}[unit](part, amount * _FACTOR[unit])
    database = opened()
    try:
        stored(database, world)
        keeper = retention(database, retention_budgets=written(budgets), max_memories=rows)
        planned = keeper.plan()
        assert ids(database) == list(range(1, len(world) + 1))
        report = keeper.run()
        assert ids(database) == sorted(oracle.left)
        assert [one.memory_id for one in report.examples] == oracle.gone[:10]
        assert planned == report
        assert report.memories == len(oracle.gone) == sum(database.write(removal_counts).result().values())
        assert keeper.run().memories == 0
        database.write(check).result()
    finally:
        database.close()


def test_retention_deletes_more_memories_than_one_batch_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 7)
    world = [Plain(recalls=number % 5, age=number % 9, data=b"x" * (number % 3)) for number in range(60)]
    for options in ({"max_memories": 10}, {"retention_budgets": "*: 150 bytes"}, {"retention_age": 4.0}):
        database = opened()
        stored(database, world)
        oracle = Oracle(world)
        oracle.rows((None, None), 10 if "max_memories" in options else 60)
        oracle.bytes((None, None), 150 if "retention_budgets" in options else 10**6)
        oracle.age((None, None), 4.0 if "retention_age" in options else 1000)
        keeper = retention(database, **options)
        assert told(keeper.plan()) == told(keeper.run())
        assert ids(database) == sorted(oracle.left)
        database.close()


def test_without_a_budget_nothing_is_deleted() -> None:
    database = opened()
    stored(database, [Plain(age=1000, status="invalidated")] * 5)
    assert retention(database).run() == retention(database).plan() == Report((), 0, ())
    assert ids(database) == [1, 2, 3, 4, 5]
    database.close()


def test_the_file_stays_within_its_budget_and_the_least_useful_went(tmp_path: Path) -> None:
    database = opened(tmp_path / "memory.db")
    world = [
        Plain(content=f"mug {number}", recalls=number % 4, age=number % 50, data=bytes(number % 200) * 20)
        for number in range(1500)
    ]
    stored(database, world)
    limit = 2_000_000
    assert database.size() > limit
    keeper = retention(database, retention_bytes=limit)
    planned = keeper.plan().memories
    report = keeper.run()
    log = Path(f"{database.path}-wal").stat().st_size
    assert log <= limit // 10
    assert limit * 0.5 < database.size() <= limit
    gone = sorted(set(range(1, 1501)) - set(ids(database)))
    assert gone == sorted(Oracle(world).order()[: len(gone)])
    assert report.memories == len(gone)
    assert 0.4 * len(gone) < planned < 2.5 * len(gone)
    assert keeper.run().memories == 0
    database.write(check).result()
    database.close()


def test_a_budget_that_even_an_empty_file_exceeds_takes_all_and_ends() -> None:
    database = opened()
    stored(database, [Plain()] * 50)
    keeper = retention(database, retention_budgets="*: 0 bytes")
    assert (keeper.plan().memories, keeper.run().memories) == (50, 50)
    database.close()


def test_a_memory_used_or_changed_during_retention_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    database = opened()
    stored(database, [Plain()] * 6)

    def use(connection: object, candidates: object, reason: str) -> object:
        connection.execute("UPDATE memories SET access_count = 1 WHERE id = 2")  # type: ignore[attr-defined]
        connection.execute("UPDATE memories SET updated_at = 'now' WHERE id = 4")  # type: ignore[attr-defined]
        return evict(connection, candidates, reason)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "evict", use)
    keeper = retention(database, retention_budgets="default: 1 rows")
    assert keeper.run().memories == 5
    # Both were left out at first; then the one that was used was the most useful.
    assert ids(database) == [2]
    database.close()


def test_a_stopped_retention_removes_nothing() -> None:
    database = opened()
    stored(database, [Plain()] * 6)
    keeper = retention(database, max_memories=1)
    keeper.stop()
    assert keeper.run().memories == 0
    assert len(ids(database)) == 6
    database.close()
