"""`as_of` tells what was believed at a time, from nothing later: as the memory itself answered at that time."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import FieldOfView, InvalidFieldError, Memory, RobotMemory
from robotmem_ros.memory.batch import BEGINNING
from robotmem_ros.memory.conditions.attributes import AsOf, ChangedSince, Window
from robotmem_ros.memory.conditions.condition import Condition
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.table.past import view_of

from ...support.clock import NOW, Clock
from ...support.sightings import SECOND, place, see, sighting, undetected
from ..conftest import OpenMemory

START = NOW // SECOND
VIEW = FieldOfView(
    origin=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), observed_at=0, max_range=9.0, horizontal=math.pi / 2,
    vertical=1.0,
)  # fmt: skip
PLACES = {2.0: "mug", 4.0: "dog", 6.0: "bag", 8.0: "mug"}
"""Where things come and go, each at a place of its own: so none is taken for another one later."""


def look(memory: RobotMemory, t: int, *things: tuple[str, float]) -> None:
    """Look at the table at a time in s, and see some things, each a label and a place."""
    new = [sighting(x, t=t, label=label) for label, x in things]
    memory.store_sightings(new, field_of_view=replace(VIEW, observed_at=t * SECOND)).result()


def answer(found: Memory) -> tuple[object, ...]:
    """Return what is compared of an object: what, when and whether it was there, and where to 5 cm."""
    assert found.pose is not None
    return found.id, found.label, found.last_seen, found.confirmed, found.first_absent, round(found.pose.x * 20) / 20


def believed(memory: RobotMemory, **conditions: object) -> list[tuple[object, ...]]:
    """Return what a recall of all things finds."""
    result = memory.recall(n=100, kinds="perception", fold=False, **conditions)  # type: ignore[arg-type]
    return sorted(map(answer, result.memories), key=str)


@pytest.mark.parametrize("seed", range(4))
def test_as_of_answers_as_the_memory_did_at_the_time(open_memory: OpenMemory, clock: Clock, seed: int) -> None:
    memory, rng, t = open_memory(clock=clock), random.Random(seed), START
    there: set[float] = set()
    then: dict[int, tuple[list[tuple[object, ...]], ...]] = {}
    for _ in range(25):
        there ^= {*rng.sample([*PLACES], rng.choice((0, 1, 2)))}
        t += rng.randrange(600, 9000)
        for _ in range(rng.choice((0, 10, 14))):  # looks of one visit
            t += 15
            clock.now = t * SECOND
            look(memory, t, *((PLACES[x], x) for x in there if rng.random() < 0.95))
        then[t] = (
            believed(memory, min_confidence=0.3),
            [entry[:1] for entry in believed(memory, labels="mug", min_confidence=0.3)],
            [entry[:1] for entry in believed(memory, near={"target": [4.0, 0.0], "max_distance": 1.0})],
        )
        t += 1
    assert sum(bool(things) for things, *_ in then.values()) > 8
    for at, (things, mugs, nearby) in then.items():
        as_of = at * SECOND
        assert believed(memory, as_of=as_of, min_confidence=0.3) == things
        assert [entry[:1] for entry in believed(memory, labels="mug", as_of=as_of)] == mugs
        near = believed(memory, near={"target": [4.0, 0.0], "max_distance": 1.0}, as_of=as_of)
        assert [entry[:1] for entry in near] == nearby
        page = memory.timeline(n=100, as_of=as_of, min_confidence=0.3).entries
        assert sorted((entry.id, entry.observed_at) for entry in page) == sorted(
            (int(str(thing[0])), thing[2]) for thing in things
        )


def test_what_a_look_found_gone_differs_from_what_nobody_looked_for(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    clock.now = (START + 7200) * SECOND
    for t in (0, 10, 20):
        see(memory, sighting(2.0, t=START + t, label="mug"), sighting(20.0, t=START + t, label="bag"))
    for t in range(500, 620, 10):
        undetected(memory, replace(VIEW, observed_at=(START + t) * SECOND))
    at: dict[str, Any] = {"kinds": "perception", "as_of": (START + 3600) * SECOND}
    (bag,) = memory.recall(**at).memories
    assert (bag.label, bag.first_absent, bag.last_seen) == ("bag", None, (START + 20) * SECOND)
    assert 0.8 < bag.presence < bag.confidence
    gone = memory.recall(**at, labels="mug")
    assert not gone
    (mug,) = memory.recall(**at, labels="mug", include_unconfirmed=True, min_confidence=0).memories
    assert mug.first_absent is not None
    assert START + 500 < mug.first_absent / SECOND < START + 620
    assert (mug.presence, mug.confirmed, round(place(mug)[0])) == (0.0, False, 2)
    assert f"{mug.id} was gone at" in gone.reason
    assert memory.recall(labels="mug", as_of=mug.first_absent - 1).memories[0].presence > 0.8
    assert not memory.recall(labels="mug", as_of=(START - 1) * SECOND)


def test_facts_are_as_they_were_told_and_not_yet_withdrawn(open_memory: OpenMemory) -> None:
    memory = open_memory()
    first, second = memory.learn("the lab is open on monday"), memory.learn("the cellar is wet")
    told = time.time_ns()
    memory.update(first.memory_id, content="the lab is closed on monday")
    memory.forget(second.memory_id, "it was dried")
    memory.learn("the hall is cold")
    assert sorted(one.content for one in memory.recall(kinds="fact").memories) == [
        "the hall is cold", "the lab is closed on monday",
    ]  # fmt: skip
    then = memory.recall(kinds="fact", as_of=told).memories
    assert sorted(one.content for one in then) == ["the cellar is wet", "the lab is open on monday"]
    assert memory.recall("cellar", as_of=told).memories[0].id == second.memory_id
    page = memory.timeline(kinds="fact", as_of=told).entries
    assert {(entry.status, entry.snippet) for entry in page} == {("active", one.content) for one in then}
    memory.restore(second.memory_id)
    assert len(memory.recall(kinds="fact", as_of=told)) == 2


def test_a_fact_learned_again_has_all_its_days(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    for day in (0, 3, 7):
        clock.now = NOW + day * 86_400 * SECOND
        memory.learn("the parcel came to the side door")
    days = [
        len(memory.recall(kinds="fact", after=NOW + day * 86_400 * SECOND, before=NOW + (day + 1) * 86_400 * SECOND))
        for day in range(9)
    ]
    assert days == [1, 0, 0, 1, 0, 0, 0, 1, 0]
    (entry,) = memory.timeline(kinds="fact", before=NOW + 5 * 86_400 * SECOND).entries
    assert entry.observed_at == NOW + 3 * 86_400 * SECOND


def test_another_file_knows_the_past_as_well(open_memory: OpenMemory, clock: Clock, tmp_path: Path) -> None:
    memory, other = open_memory(clock=clock), open_memory(tmp_path / "other.db", clock=clock)
    clock.now = (START + 7200) * SECOND
    for t in range(START, START + 100, 10):
        look(memory, t, ("mug", 2.0))
    for t in range(START + 500, START + 700, 10):
        look(memory, t, ("bag", 6.0))
    batch = memory.changes_since(BEGINNING)
    while batch is not None:
        other.apply(batch)
        batch = memory.changes_since(batch.cursor)
    for t in (50, 300, 690):
        at = (START + t) * SECOND
        assert believed(other, as_of=at) == believed(memory, as_of=at)
        assert believed(other, as_of=at)


@pytest.mark.parametrize("condition", [AsOf, ChangedSince, lambda at: Window(at, at + 10 * SECOND)])
def test_the_past_takes_as_many_queries_for_all_objects_as_for_one_and_reads_no_table_in_full(
    open_memory: OpenMemory, clock: Clock, condition: Any
) -> None:
    memory = open_memory(clock=clock)
    clock.now = (START + 7200) * SECOND
    for t in range(START, START + 100, 10):
        look(memory, t, *(("mug", x) for x in (2.0, 4.0, 6.0, 8.0)))
    for t in range(START + 500, START + 700, 10):
        look(memory, t, ("mug", 2.0), ("mug", 4.0))
    _, *queries = (_queries(memory, condition((START + 50) * SECOND), n) for n in (1, 2, 4))
    assert len(queries[0]) == len(queries[1])
    with memory.parts.tables.reading() as now:
        plans = [step for sql in queries[1] for *_, step in now.snapshot.rows(f"EXPLAIN QUERY PLAN {sql}")]
    assert any("SEARCH stays" in step for step in plans)
    assert not [step for step in plans if step in ("SCAN memories", "SCAN objects", "SCAN sightings", "SCAN stays")]


def _queries(memory: RobotMemory, condition: Condition, n: int) -> list[str]:
    # What a view asks the file for itself and for the last objects, of which some were gone later.
    traced: list[str] = []
    with memory.parts.tables.reading() as now:
        now.snapshot._connection.set_trace_callback(traced.append)
        view = view_of(now, [condition])
        ids = view.ids[view.is_active & (view.confirmed >= 0) & (view.observed_at > 0)].tolist()[-n:]
        view.fields_then(ids, Decay(0.0, NOW))
        now.snapshot._connection.set_trace_callback(None)
    return traced


def test_a_time_that_cannot_be_used_is_named(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="as_of"):
        memory.recall("mug", as_of="soon")
    assert not memory.recall("mug", as_of=0)


def test_a_time_alone_asks_for_all_that_was_known_then(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.learn("the lab is wet")
    told = time.time_ns()
    memory.learn("the hall is cold")
    assert [one.content for one in memory.recall(as_of=told).memories] == ["the lab is wet"]
