"""`changed_since` tells what appeared, left and moved: as what the memory believed then and believes now differ."""

from __future__ import annotations

import math
import random

import pytest

from robotmem_ros.memory import InvalidFieldError, Memory, RobotMemory

from ...support.clock import Clock
from ...support.sightings import SECOND, place
from ..conftest import OpenMemory
from .test_as_of import PLACES, START, look

Believed = dict[int, tuple[str, float]]
"""Label and x of what is believed, by id."""


def believed(memory: RobotMemory) -> Believed:
    """Return what is believed now."""
    found = memory.recall(n=100, kinds="perception", fold=False).memories
    return {one.id: (one.label, round(place(one)[0], 3)) for one in found}


def told(found: Memory) -> tuple[object, ...]:
    """Return how an object changed, what it is, where it is and where it was."""
    origin = None if found.moved_from is None else round(found.moved_from.x, 3)
    return found.change, found.id, found.label, round(place(found)[0], 3), origin


Seen = dict[float, tuple[int, int]]
"""The first look of the last time that a thing was at a place, and the last one, in s."""


def expected(then: Believed, now: Believed, seen: Seen) -> set[tuple[object, ...]]:
    """Return what must be told: what left and what then appeared with its label are paired, nearest first."""
    left, came = {*then} - {*now}, {*now} - {*then}
    moved: dict[int, int] = {}
    for _, old, new in sorted(
        (abs(then[old][1] - now[new][1]), old, new)
        for old in left
        for new in came
        if then[old][0] == now[new][0] and seen[round(now[new][1])][0] >= seen[round(then[old][1])][1]
    ):
        if old in left - moved.keys() and new not in moved.values():
            moved[old] = new
    return {
        *(("moved", new, *now[new], then[old][1]) for old, new in moved.items()),
        *(("left", old, *then[old], None) for old in left - moved.keys()),
        *(("appeared", new, *now[new], None) for new in came - {*moved.values()}),
    }


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_changes_are_those_between_two_answers_of_the_memory(open_memory: OpenMemory, clock: Clock, seed: int) -> None:
    memory, rng, t = open_memory(clock=clock), random.Random(seed), START
    there: set[float] = set()
    then: dict[int, Believed] = {}
    compared = set()
    seen: Seen = {}
    present: set[float] = set()
    for _ in range(12):
        there ^= {*rng.sample([*PLACES], rng.choice((0, 1, 2)))}
        t += rng.randrange(600, 9000)
        for _ in range(14):
            t += 15
            clock.now = t * SECOND
            look(memory, t, *((PLACES[x], x) for x in there))
            seen |= {x: (seen[x][0] if x in present else t, t) for x in there}
            present = {*there}
        now = believed(memory)
        for at, before in then.items():
            changes = expected(before, now, seen)
            found = memory.recall(n=100, changed_since=at * SECOND).memories
            # Where it is to the millimetre is known only of what did not move on since.
            assert {told(one)[:3] for one in found} == {change[:3] for change in changes}
            for one, change in zip(sorted(map(told, found), key=str), sorted(changes, key=str), strict=True):
                assert one[3] == pytest.approx(change[3], abs=0.05)
                assert (one[4] is None) is (change[4] is None)
                assert one[4] is None or one[4] == pytest.approx(change[4], abs=0.05)
            page = memory.timeline(n=100, changed_since=at * SECOND).entries
            assert {(entry.change, entry.id) for entry in page} == {change[:2] for change in changes}
            compared |= {change[0] for change in changes}
        then[t] = now
        t += 1
    assert compared == {"appeared", "left", "moved"}


def test_what_a_person_carries_away_has_moved(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    clock.now = (START + 20) * SECOND
    for t in (0, 10, 20):
        look(memory, START + t, ("mug", 2.0), ("bag", 6.0))
    clock.now = (START + 300) * SECOND
    mug, bag = sorted(memory.recall(kinds="perception").memories, key=lambda one: one.label != "mug")
    memory.update(mug.id, pose=(7.0, 1.0, 0.0))
    memory.update(bag.id, pose=(6.2, 0.0, 0.0))
    (found,) = memory.recall(changed_since=(START + 100) * SECOND).memories
    assert (found.id, found.change) == (mug.id, "moved")
    assert found.moved_from is not None
    assert math.dist(found.moved_from[:3], (2.0, 0.0, 0.0)) < 0.05
    assert place(found) == (7.0, 1.0, 0.0)
    assert not memory.recall(changed_since=clock.now)
    assert not memory.recall(changed_since=(START + 100) * SECOND, labels="bag")


def test_what_left_is_told_as_it_was_last(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    for t in range(START, START + 60, 10):
        clock.now = t * SECOND
        look(memory, t, ("mug", 2.0))
    for t in range(START + 500, START + 640, 10):
        clock.now = t * SECOND
        look(memory, t)
    (found,) = memory.recall("the mug", changed_since=(START + 60) * SECOND).memories
    assert (found.change, found.last_seen, found.confirmed) == ("left", (START + 50) * SECOND, False)
    assert found.first_absent is not None
    assert found.first_absent >= (START + 500) * SECOND


def test_two_times_are_refused(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="goes without `as_of`"):
        memory.recall(changed_since=1, as_of=2)
