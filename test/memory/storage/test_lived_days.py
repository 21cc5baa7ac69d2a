"""The day to which a memory belongs is the same by either way of writing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage import rows
from robotmem_ros.memory.storage.snapshot import Transaction

from ...support.clock import DAY, SECOND, Clock


@settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    days=st.lists(st.integers(0, 3) | st.integers(20_000, 20_010), min_size=1, max_size=8),
    times=st.lists(st.tuples(*[st.integers(0, 4) | st.integers(19_998, 20_012)] * 2), min_size=1, max_size=8),
)
def test_a_new_memory_and_one_that_is_updated_belong_to_the_same_day(
    days: list[int], times: list[tuple[int, int]]
) -> None:
    clock = Clock(days[0] * DAY + 1)
    with RobotMemory(":memory:", embedding_model="", clock=clock) as memory:
        for day in days:
            clock.now = day * DAY + 1
            memory.parts.database.write(lambda transaction: None).result()
        perception = new_perception(memory.parameters, NewPerception(description="a red mug"), now=lambda: 1)
        for observed, received in times:
            seen = replace(perception, observed_at=observed * DAY + SECOND, received_at=received * DAY)
            new = memory.store(seen).result().memory_id
            old = memory.store(perception).result().memory_id
            first, second = memory.parts.database.write(partial(_days, old=old, new=new, seen=seen)).result()
            assert first == second


def _days(transaction: Transaction, *, old: int, new: int, seen: NewMemory) -> list[int]:
    rows.update(transaction, old, {"observed_at": seen.observed_at, "received_at": seen.received_at})
    sql = "SELECT evidence_day FROM memories WHERE id IN (?, ?) ORDER BY id"
    return [day for (day,) in transaction.rows(sql, (old, new))]
