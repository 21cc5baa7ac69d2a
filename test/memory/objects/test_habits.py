"""`usually_at` tells where things usually are at a time of day: by the majority of the days of their stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ...support.clock import Clock
from ...support.sightings import SECOND, place
from ..conftest import OpenMemory
from .test_as_of import look

MONDAY = datetime.fromisoformat("2026-09-07")
TABLE, SHELF, SINK = 2.0, 5.0, 8.0
HOURS = (*range(6, 24),)


def places(day: int) -> Iterator[tuple[int, float]]:
    """Yield where the mug is at each hour of a day: on the shelf from nine on, but in the sink on Sundays and once."""
    for hour in HOURS:
        is_exception = day % 7 == 6 or day == 2
        yield hour, TABLE if hour < 9 else SINK if is_exception else SHELF


@pytest.fixture
def lived(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """A memory of four weeks in which a mug is carried about each day, and a sofa never."""
    memory = open_memory(clock=clock)
    for day in range(22):
        for hour, mug in places(day):
            for minute in (0, 2, 4, 6, 8) if hour in {6, 9, 10} else (0, 5):
                clock.now = round((MONDAY + timedelta(days=day, hours=hour, minutes=minute)).timestamp()) * SECOND
                look(memory, clock.now // SECOND, ("mug", mug), ("sofa", 3.5))
    return memory


def where(memory: RobotMemory, at: str, **more: object) -> list[tuple[int, float]]:
    """Return the places of the mug at a time of day, the most usual first, each with its share of days."""
    found = memory.recall(labels="mug", usually_at=at, min_confidence=0.0, **more).memories  # type: ignore[arg-type]
    return [(round(place(one)[0]), one.presence) for one in found]


def test_the_place_of_most_days_comes_first_with_its_days(lived: RobotMemory) -> None:
    assert where(lived, "08:00")[0] == (TABLE, 1.0)
    (shelf, often), (sink, seldom) = where(lived, "18:30")
    assert (shelf, sink) == (SHELF, SINK)
    assert (often, seldom) == (round(18 / 22, 3), round(4 / 22, 3))
    result = lived.recall(labels="mug", usually_at="18:30", min_confidence=0.0)
    first, second = (one.id for one in result.memories)
    assert f"at 18:30 of 22 days: object {first} on 18, {second} on 4" in result.reason
    assert [one.label for one in lived.recall(usually_at="12:00", n=1, labels="sofa").memories] == ["sofa"]


def test_a_weekday_counts_by_itself_where_there_are_enough(lived: RobotMemory) -> None:
    assert where(lived, "Sunday 18:00") == [(SINK, 1.0)]
    assert where(lived, "monday 18:00") == [(SHELF, 1.0)]


def test_before_three_days_of_a_weekday_all_days_tell(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    for hour in range(20):
        for minute in (0, 1):
            clock.now = round((MONDAY + timedelta(hours=hour, minutes=minute)).timestamp()) * SECOND
            look(memory, clock.now // SECOND, ("mug", TABLE))
    assert where(memory, "Friday 12:00") == where(memory, "12:00") == [(TABLE, 1.0)]


@pytest.mark.parametrize("value", ["nine", "25:00", "9:7", "Noday 09:00", 9])
def test_what_is_no_time_of_day_is_named(memory: RobotMemory, value: object) -> None:
    with pytest.raises(InvalidFieldError, match="usually_at"):
        memory.recall(usually_at=value)  # type: ignore[arg-type]


def test_it_goes_alone(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="goes without `as_of`"):
        memory.recall(usually_at="09:00", as_of=1)
