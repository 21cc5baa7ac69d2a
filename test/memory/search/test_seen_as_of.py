"""The objects of a time are those that a recall of that time finds."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ...support.clock import Clock
from ...support.sightings import SECOND
from ..conftest import OpenMemory
from ..objects.test_as_of import START, look


def test_objects_and_stays_are_told_as_of_a_time(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    for t in range(START, START + 900, 15):
        clock.now = t * SECOND
        look(memory, t, *[("mug", 2.0)] * (t < START + 300), ("bag", 6.0), *[("dog", 4.0)] * (t > START + 600))
    for t in (-1, 100, 500, 899):
        at = (START + t) * SECOND
        believed = memory.recall(as_of=at, kinds="perception", fold=False, min_confidence=0.3, n=50).memories
        objects = memory.objects(as_of=at)
        assert [
            (one.memory_id, one.label, one.last_seen, one.times_seen, one.position, one.presence) for one in objects
        ] == [
            (one.id, one.label, one.last_seen, one.times_seen, one.pose and one.pose[:3], one.presence)
            for one in believed
        ]
        assert len(objects) == {-1: 0, 100: 2, 500: 1, 899: 2}[t]
        assert memory.objects(1, as_of=at) == objects[:1]
    (mug,) = (one for one in memory.objects(include_unconfirmed=True) if one.label == "mug")
    (stay,) = memory.stays(mug.memory_id)
    assert (stay.first_seen, stay.last_seen, stay.label) == (START * SECOND, (START + 285) * SECOND, "mug")
    assert stay.first_absent is not None
    assert [stay.first_absent for stay in memory.stays(memory.objects()[0].memory_id)] == [None]
    assert memory.stays(999) == ()


def test_a_time_that_cannot_be_read_is_named(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="as_of"):
        memory.objects(as_of="soon")
