"""Named places: perceptions of the type `place`, whose name a place of a query takes as it takes that of a frame."""

from __future__ import annotations

import math
from typing import Any

import pytest

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, RobotMemory
from robotmem_ros.memory.clocks import DAY

from ...support.clock import Clock
from ..conftest import OpenMemory

NORTH = math.pi / 2
"""Yaw of what looks along y."""


def save_place(memory: RobotMemory, name: str, *pose: float, **more: Any) -> int:
    return memory.save_perception(f"where {name} is", "place", label=name, pose=pose, **more).memory_id


@pytest.fixture
def yard(memory: RobotMemory) -> RobotMemory:
    """A charger at (10, 0) from which one looks north, and crates north of it."""
    save_place(memory, "Bay 7", 10.0, 0.0, 0.0, NORTH)
    for y in (1.0, 3.0, 9.0):
        memory.save_perception("a crate", pose=(10.0, y, 0.0), label="crate", as_object=False)
    return memory


def distances(memory: RobotMemory, **where: Any) -> list[float]:
    hits = memory.recall(labels="crate", fold=False, **where)
    return [round(hit.distance, 6) for hit in hits if hit.distance is not None]


def test_a_place_is_recalled_with_its_orientation_and_is_no_object(memory: RobotMemory) -> None:
    saved = [save_place(memory, "charger", 1.0, 2.0, 0.0, NORTH) for _ in range(2)]
    assert len({*saved}) == 2
    (found,) = memory.recall(labels="Charger", context_filter={"perception_type": "place"})
    assert found.memory.pose == pytest.approx((1.0, 2.0, 0.0, 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    assert (found.memory.times_seen, memory.objects()) == (0, ())


def test_the_name_of_a_place_says_where(yard: RobotMemory) -> None:
    assert distances(yard, near="bay  7", spatial_sort="BAY 7") == [1.0, 3.0]
    assert distances(yard, spatial_sort={"frame_id": "Bay 7", "max_distance": 2.0}) == [1.0]
    # Ahead of who stands there, and to the left.
    assert distances(yard, spatial_sort={"frame_id": "bay 7", "target": (3.0, 0.0)}) == [0.0, 2.0, 6.0]
    assert distances(yard, spatial_sort={"frame_id": "bay 7", "target": (3.0, 4.0, 3.0)})[0] == 5.0


def test_a_place_that_is_renamed_moved_forgotten_or_saved_again_is_found_as_it_is_now(yard: RobotMemory) -> None:
    (place,) = yard.recall(labels="bay 7")
    yard.update(place.memory.id, label="ramp", pose=(10.0, 9.0, 0.0))
    assert distances(yard, near={"frame_id": "ramp", "max_distance": 0.5}, spatial_sort="ramp") == [0.0]
    again = save_place(yard, "ramp", 10.0, 3.0, 0.0)
    assert distances(yard, spatial_sort="ramp")[0] == distances(yard, spatial_sort=(10, 3, 0))[0] == 0.0
    yard.forget([again, place.memory.id], reason="rebuilt")
    with pytest.raises(FrameMismatchError, match=r"^spatial_sort\.target: frame 'ramp' cannot be compared"):
        yard.recall(spatial_sort="ramp")


def test_an_unknown_name_is_told_with_the_names_that_there_are(yard: RobotMemory) -> None:
    save_place(yard, "dock", 0.0, 0.0, 0.0)
    told = r"no place is named so; did you mean 'bay 7'\?; there are bay 7, dock; give the position in 'map'$"
    with pytest.raises(FrameMismatchError, match=told):
        yard.recall(near="bay 8")
    box = {"min_corner": (0, 0), "max_corner": (1, 1), "frame_id": "dock"}
    with pytest.raises(FrameMismatchError, match="it is a place, to which no box is turned"):
        yard.recall(within=box)
    for text in ("1 m, 2 m", "[dock]", "7", "nan nan"):
        with pytest.raises(InvalidFieldError, match=r"^near"):
            yard.recall(near=text)


def test_a_place_needs_a_name_and_a_pose(memory: RobotMemory) -> None:
    for missing, given in (("label", {"pose": (1, 2, 0)}), ("pose", {"label": "dock"})):
        with pytest.raises(InvalidFieldError, match=f"^{missing}: None is missing; a place has a name and a pose"):
            memory.save_perception("somewhere", "place", **given)


def test_a_place_counts_where_it_is_only_in_its_frame_and_on_its_map(open_memory: OpenMemory) -> None:
    memory = open_memory(map_id="first floor")
    save_place(memory, "lift", 1.0, 0.0, 0.0, frame_id="odom")
    with pytest.raises(FrameMismatchError):
        memory.recall(near="lift")
    save_place(memory, "lift", 1.0, 0.0, 0.0)
    assert [hit.memory.label for hit in memory.recall(near="lift")] == ["lift"]
    memory.close()
    with pytest.raises(FrameMismatchError):
        open_memory(memory.path, map_id="second floor").recall(near="lift")


def test_a_look_takes_the_name_of_a_place(yard: RobotMemory) -> None:
    crate = yard.save_perception("a box", label="box", pose=(10.0, 0.5, 0.0)).memory_id
    assert yard.look(near="bay 7", labels="box") == (crate,)


def test_a_place_does_not_fade(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    save_place(memory, "charger", 1.0, 2.0, 0.0)
    for _ in range(3):
        clock.now += 100 * DAY
        memory.learn(f"day {clock.now} was lived")
    (found,) = memory.recall(labels="charger")
    assert (found.memory.confidence, found.memory.faded) == (0.9, False)
