"""A caller that looked and found nothing is taken at its word: a miss, and no `forget`."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, RobotMemory

from ...support.clock import Clock
from ...support.sightings import SECOND
from ..conftest import OpenMemory
from .test_as_of import START, look


@pytest.fixture
def table(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """A memory of a mug at 2 m, a bag at 2.5 m and a mug at 8 m, seen for a minute."""
    memory = open_memory(clock=clock)
    for t in range(START, START + 60, 10):
        clock.now = t * SECOND
        look(memory, t, ("mug", 2.0), ("bag", 2.5), ("mug", 8.0))
    clock.now = (START + 300) * SECOND
    return memory


def there(memory: RobotMemory, **conditions: object) -> list[tuple[str, int]]:
    """Return the labels and places of what is believed, by their places."""
    found = memory.recall(n=100, kinds="perception", fold=False, **conditions).memories  # type: ignore[arg-type]
    return sorted(((one.label, round(one.pose.x)) for one in found if one.pose), key=lambda one: one[1])


def test_a_look_ends_the_stay_of_what_is_not_there(table: RobotMemory, clock: Clock) -> None:
    (mug,) = table.look(near=(2.0, 0.0), labels="Mug")
    assert there(table) == [("bag", 2), ("mug", 8)]
    (gone,) = table.recall(ids=mug, include_unconfirmed=True, min_confidence=0).memories
    assert (gone.first_absent, gone.last_seen) == (clock.now, (START + 50) * SECOND)
    assert not table.get_memories(mug).memories[0].history
    assert [one.id for one in table.recall(labels="mug", near=(2, 0), as_of=clock.now - 1).memories] == [mug]
    assert [one.change for one in table.recall(changed_since=(START + 60) * SECOND).memories] == ["left"]
    assert table.look(ids=mug) == ()


def test_it_comes_back_when_it_is_detected_again(table: RobotMemory, clock: Clock) -> None:
    table.look(near={"target": (2.0, 0.0), "max_distance": 0.2})
    assert there(table) == [("bag", 2), ("mug", 8)]
    for t in range(START + 7200, START + 7320, 15):
        clock.now = t * SECOND
        look(table, t, ("mug", 2.0), ("bag", 2.5), ("mug", 8.0))
    assert there(table) == [("mug", 2), ("bag", 2), ("mug", 8)]
    assert there(table, as_of=(START + 3600) * SECOND) == [("bag", 2), ("mug", 8)]


def test_an_empty_place_has_nothing_at_all(table: RobotMemory) -> None:
    assert len(table.look(within={"min_corner": (0, -1), "max_corner": (4, 1)})) == 2
    assert there(table) == [("mug", 8)]


def test_what_was_seen_after_the_look_stays(table: RobotMemory) -> None:
    assert table.look(near=(2.0, 0.0), observed_at=(START + 30) * SECOND) == ()
    assert len(there(table)) == 3


def test_a_look_that_says_nothing_is_refused(table: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="near"):
        table.look(labels="mug")
    with pytest.raises(FrameMismatchError, match="no place is named so"):
        table.look(near="here")
    with pytest.raises(FrameMismatchError, match="odom"):
        table.look(near={"target": (2.0, 0.0), "max_distance": 1.0, "frame_id": "odom"})
