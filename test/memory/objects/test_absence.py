"""A place clearly in view without its object counts against it; nothing else does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory, View

from ..conftest import OpenMemory
from .sightings import SECOND, see, sighting, the

VIEW = View(origin=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), observed_at=200 * SECOND)


@pytest.fixture
def memory(open_memory: OpenMemory) -> RobotMemory:
    """A chair two metres ahead, and a detector that sees five metres and a right angle."""
    opened = open_memory(sensor_range=5.0, sensor_angle=math.pi / 2)
    assert see(opened, sighting(2.0, t=100)) == [1]
    return opened


def test_several_views_of_its_place_without_the_object_lower_its_confidence(memory: RobotMemory) -> None:
    told = []
    for t in range(6):
        assert memory.not_seen(replace(VIEW, observed_at=(200 + t) * SECOND)).result() == (1,)
        told.append(the(memory, 1).confidence)
    assert told == pytest.approx([0.9, 0.9, 0.45, 0.45, 0.45, 0.225])
    assert [each.id for each in memory.recall("chair")] == []
    assert the(memory, 1).last_seen == 100 * SECOND


def test_a_sighting_gives_the_confidence_back(memory: RobotMemory) -> None:
    for t in range(3):
        memory.not_seen(replace(VIEW, observed_at=(200 + t) * SECOND)).result()
    see(memory, sighting(2.0, t=150, confidence=0.4))
    assert the(memory, 1).confidence == pytest.approx(0.9)


@pytest.mark.parametrize(
    "view",
    [
        replace(VIEW, seen=frozenset({1})),
        replace(VIEW, labels=frozenset({"mug"})),
        replace(VIEW, direction=(-1.0, 0.0, 0.0)),
        replace(VIEW, direction=(1.0, 1.0, 0.0)),
        replace(VIEW, origin=(-2.9, 0.0, 0.0)),
        replace(VIEW, origin=(1.9, 0.0, 0.0)),
        replace(VIEW, observed_at=100 * SECOND),
        replace(VIEW, observed_at=100 * SECOND + SECOND // 2),
        replace(VIEW, observed_at=50 * SECOND),
        replace(VIEW, frame_id="odom"),
        replace(VIEW, collection="lab"),
    ],
)
def test_what_is_seen_out_of_view_or_too_early_is_not_missed(memory: RobotMemory, view: View) -> None:
    assert memory.not_seen(view).result() == ()


def test_views_in_quick_succession_count_once(memory: RobotMemory) -> None:
    views = [replace(VIEW, observed_at=200 * SECOND + t * SECOND // 30) for t in range(45)]
    assert sum(len(memory.not_seen(view).result()) for view in views) == 2


def test_absence_is_off_by_default(open_memory: OpenMemory) -> None:
    memory = open_memory()
    see(memory, sighting(2.0))
    assert memory.not_seen(VIEW).result() == ()


def test_a_moved_object_is_found_at_its_new_place_and_the_old_one_fades(memory: RobotMemory) -> None:
    for t in range(200, 210):
        (new,) = see(memory, sighting(3.5, 1.0, t=t))
        memory.not_seen(replace(VIEW, observed_at=t * SECOND, seen=frozenset({new}))).result()
    assert [each.id for each in memory.recall("chair")] == [2]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (replace(VIEW, direction=(0.0, 0.0, 0.0)), "view.direction: .* must not be zero"),
        (replace(VIEW, origin=(math.nan, 0.0, 0.0)), r"view.origin\[0\]: nan must be a finite number"),
        (replace(VIEW, observed_at=-1), "view.observed_at: -1 must not lie before the epoch"),
    ],
)
def test_a_view_that_is_none_is_refused(memory: RobotMemory, view: View, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=message):
        memory.not_seen(view)
