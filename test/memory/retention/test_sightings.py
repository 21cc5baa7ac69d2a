"""The sightings of all objects together have a budget."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.examples import examples
from ..conftest import OpenMemory


def see(memory: RobotMemory, thing: int, second: int) -> int:
    """Sees a thing at its place; the id of the object."""
    new = new_perception(
        memory.parameters,
        NewPerception(description="a cup", label="cup", pose=[thing * 10, 0, 0], observed_at=second * 10**9),
        now=lambda: 1,
    )
    return memory.store_sightings([new]).result()[0].memory_id


def see_often(memory: RobotMemory, thing: int, count: int) -> int:
    """Sees a thing once a second; the id of the object."""
    (cup,) = {see(memory, thing, second) for second in range(count)}
    memory.flush()  # budgets come next, and maintenance would enforce them too, before the test does
    return cup


def expected(kept: dict[int, int], budget: int) -> dict[int, int]:
    """How many sightings each object keeps: halve the longest history, of several the first, until they fit."""
    kept = dict(kept)
    while sum(kept.values()) > budget and max(kept.values(), default=0) > 2:
        longest = min(kept, key=lambda thing: (-kept[thing], thing))
        kept[longest] -= (kept[longest] - 1) // 2
    return kept


@settings(max_examples=examples(40))
@given(counts=st.lists(st.integers(1, 30), max_size=6), budget=st.integers(1, 60))
def test_the_longest_histories_are_halved_until_all_fit(counts: list[int], budget: int) -> None:
    with RobotMemory(":memory:", embedding_model="", sighting_interval=0.0) as memory:
        ids = [see_often(memory, thing, count) for thing, count in enumerate(counts)]
        before = dict(zip(ids, counts, strict=True))
        after = expected(before, budget)
        memory.parameters = memory.parameters.changed(retention_sightings=budget)
        planned = memory.retain(dry_run=True)
        assert planned.sightings == sum(counts) - sum(after.values())
        assert memory.retain() == planned
        for memory_id, count in before.items():
            history = memory.object_history(memory_id)
            assert len(history) == after[memory_id]
            assert history[-1].observed_at == 0
            assert history[0].observed_at == (count - 1) * 10**9
            assert sum(1 + sighting.subsampled for sighting in history) == count
        assert memory.status().memories == len(ids)
        assert memory.retain().sightings == 0


def test_sightings_of_a_memory_that_goes_are_not_counted_twice(open_memory: OpenMemory) -> None:
    memory = open_memory(sighting_interval=0.0, clock=lambda: 10**18)
    see_often(memory, 0, 8)
    stays = see_often(memory, 1, 20)
    memory.parameters = memory.parameters.changed(max_memories=1, retention_sightings=20)
    planned = memory.retain(dry_run=True)
    assert (planned.memories, planned.sightings) == (1, 0)
    assert memory.retain() == planned
    assert len(memory.object_history(stays)) == 20


def test_deleted_sightings_are_counted(open_memory: OpenMemory) -> None:
    memory = open_memory(sighting_interval=0.0)
    see_often(memory, 0, 9)
    memory.parameters = memory.parameters.changed(retention_sightings=3)
    assert memory.retain().sightings == 6
    with sqlite3.connect(memory.path) as connection:
        counts = connection.execute("SELECT name, value FROM settings WHERE name GLOB 'removed *'")
        assert counts.fetchall() == [("removed sightings sighting", "6")]
    connection.close()
    assert memory.status().removed == 0


@pytest.mark.parametrize("budget", [1, 2])
def test_two_sightings_of_an_object_always_stay(open_memory: OpenMemory, budget: int) -> None:
    memory = open_memory(sighting_interval=0.0)
    cup = see_often(memory, 0, 5)
    memory.parameters = memory.parameters.changed(retention_sightings=budget)
    memory.retain()
    assert [sighting.observed_at for sighting in memory.object_history(cup)] == [4 * 10**9, 0]
