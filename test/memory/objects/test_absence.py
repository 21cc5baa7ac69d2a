"""An object that is clearly in view and not detected loses confidence; no other does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from robotmem_ros.memory import FieldOfView, InvalidFieldError, RobotMemory
from robotmem_ros.memory.map_values import OccupancyGrid, Origin
from robotmem_ros.memory.models import ImportKey, Recording
from robotmem_ros.memory.objects.existence import after_miss
from robotmem_ros.memory.objects.field_of_view import Detection
from robotmem_ros.memory.persistence import LEAVE_RATE, after_time

from ...support.sightings import SECOND, missed, see, sighting, the, undetected
from ..conftest import OpenMemory

VIEW = FieldOfView(
    origin=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), observed_at=200 * SECOND, max_range=5.0,
    horizontal=math.pi / 2, vertical=1.0,
)  # fmt: skip


@pytest.fixture
def memory(open_memory: OpenMemory) -> RobotMemory:
    """A chair two metres ahead of a detector that sees five metres and a right angle."""
    opened = open_memory()
    assert see(opened, sighting(2.0, t=100)) == [1]
    return opened


def test_every_miss_lowers_the_confidence_of_an_object_until_it_is_not_confirmed(memory: RobotMemory) -> None:
    for t in range(101, 110):
        see(memory, sighting(2.0, t=t))
    expected = the(memory, 1).confidence
    assert [each.id for each in memory.recall("chair")] == [1]
    for number in range(10):
        assert undetected(memory, replace(VIEW, observed_at=(200 + 10 * number) * SECOND)) == (1,)
        if expected >= 0.5:
            expected = after_time(expected, (10 if number else 91) / 3600, leave_rate=LEAVE_RATE)
        expected = after_miss(expected, 1.9, 0, fresh=1.0)
        assert the(memory, 1).confidence == pytest.approx(expected, rel=1e-5)
    assert len(memory.recall("chair")) == 0
    assert the(memory, 1).last_seen == 109 * SECOND


def test_sightings_confirm_an_object_again_that_was_missed_for_long(memory: RobotMemory) -> None:
    for t in range(100):
        undetected(memory, replace(VIEW, observed_at=(200 + t) * SECOND))
    for t in range(3):
        assert not the(memory, 1).confirmed
        see(memory, sighting(2.0, t=300 + t))
    assert the(memory, 1).confirmed


@pytest.mark.parametrize(
    "view",
    [
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
        replace(VIEW, max_range=2.0),
        replace(VIEW, max_range=0.0),
        replace(VIEW, direction=(1.0, 0.0, 0.6)),
        replace(VIEW, vertical=0.0, origin=(0.0, 0.0, 0.1)),
        replace(VIEW, stream="/camera"),
        replace(VIEW, detections=(Detection("chair", (2.2, 0.2, 0.0)),)),
    ],
)
def test_an_object_that_is_detected_or_not_in_view_or_seen_later_is_not_missed(
    memory: RobotMemory, view: FieldOfView
) -> None:
    assert undetected(memory, view) == ()


def floor(*rows: str) -> OccupancyGrid:
    """Return a grid of half metres from (-1, -1) on, the row of the least y first: # is a wall, ? unknown."""
    cells = bytes({".": 0, "#": 100, "?": 255}[cell] for row in rows for cell in row)
    return OccupancyGrid(
        frame_id="map", resolution=0.5, origin=Origin(-1.0, -1.0), width=len(rows[0]), height=len(rows), cells=cells
    )


WALL = floor(*["....#..."] * 4)


@pytest.mark.parametrize(
    ("grids", "missed_ids"),
    [
        ([WALL], ()),
        ([floor(*["....#..."] * 3, "........")], ()),  # the door is beside
        ([floor("....#...", *["........"] * 3)], (1,)),  # the wall is beside
        ([floor(*["......##"] * 4)], (1,)),  # it stands in a cupboard
        ([floor(*["????????"] * 4)], (1,)),
        ([floor("..", "..")], (1,)),  # the map ends before it
        ([replace(WALL, map_id="another house")], (1,)),
        ([WALL, floor(*["........"] * 4)], (1,)),  # the wall is gone
        ([floor(*["........"] * 4), WALL], ()),
    ],
)
def test_nothing_is_missed_through_a_wall_of_the_map(
    memory: RobotMemory, grids: list[OccupancyGrid], missed_ids: tuple[int, ...]
) -> None:
    looks = []
    for number, grid in enumerate(grids):
        memory.maps.save(grid)
        looks.append(undetected(memory, replace(VIEW, observed_at=(200 + 100 * number) * SECOND)))
    assert looks[-1] == missed_ids
    assert undetected(
        memory, replace(VIEW, origin=(2.0, 1.0, 0.0), direction=(0.0, -1.0, 0.0), observed_at=900 * SECOND)
    )


def test_an_object_is_missed_at_most_once_in_an_absence_interval(memory: RobotMemory) -> None:
    views = [replace(VIEW, observed_at=200 * SECOND + t * SECOND // 30) for t in range(45)]
    assert sum(len(undetected(memory, view)) for view in views) == 2


def test_a_detector_misses_only_what_it_saw_before(memory: RobotMemory) -> None:
    (lamp,) = see(memory, replace(sighting(2.0, 0.5, label="lamp"), stream="/camera"))
    assert undetected(memory, replace(VIEW, stream="/camera")) == (lamp,)
    assert undetected(memory, replace(VIEW, stream="/laser")) == ()


@pytest.mark.parametrize("detection", [Detection("mug", (2.0, 0.0, 0.0)), Detection("chair", (2.5, 0.0, 0.0))])
def test_a_dropped_detection_of_another_object_does_not_prevent_a_miss(
    memory: RobotMemory, detection: Detection
) -> None:
    assert undetected(memory, replace(VIEW, detections=(detection,))) == (1,)


def test_a_message_stores_its_sightings_and_misses_other_objects_in_view(memory: RobotMemory) -> None:
    chairs = sighting(2.0, t=200), sighting(3.5, 1.0, t=200)
    seen = [stored.memory_id for stored in memory.store_sightings(chairs, field_of_view=VIEW).result()]
    assert seen == [1, 2]
    later = replace(VIEW, observed_at=202 * SECOND)
    memory.store_sightings([sighting(3.5, 1.0, t=202)], field_of_view=later).result()
    assert [number > 0 for number in missed(memory).values()] == [True, False]
    memory.store_sightings([], field_of_view=replace(VIEW, observed_at=204 * SECOND)).result()
    assert [number > 0 for number in missed(memory).values()] == [True, True]


def test_a_view_of_a_recording_counts_once(memory: RobotMemory) -> None:
    recording = Recording("digest", "/detections", "configuration", "path")
    key = ImportKey(memory.imports.begin(recording), 200 * SECOND, 0, -1)
    for _ in range(2):
        memory.store_sightings([], field_of_view=replace(VIEW, import_key=key)).result()
        # As if it had not been noted when it was missed.
        memory.parts.database.write(
            lambda connection: connection.execute("UPDATE objects SET last_missed = 0")
        ).result()
    assert missed(memory) == {1: 1}


def test_a_moved_object_is_found_at_its_new_place_and_the_old_one_fades(memory: RobotMemory) -> None:
    for t in range(200, 210):
        memory.store_sightings([sighting(3.5, 1.0, t=t)], field_of_view=replace(VIEW, observed_at=t * SECOND)).result()
    assert [each.id for each in memory.recall("chair")] == [2]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (replace(VIEW, direction=(0.0, 0.0, 0.0)), "field_of_view.direction: .* must not be zero"),
        (replace(VIEW, origin=(math.nan, 0.0, 0.0)), r"field_of_view.origin\[0\]: nan must be a finite number"),
        (replace(VIEW, up=(2.0, 0.0, 0.0)), "field_of_view.up: .* must not be zero, nor parallel to the direction"),
        (replace(VIEW, max_range=-1.0), "field_of_view.max_range: -1.0 must"),
        (replace(VIEW, vertical=math.inf), "field_of_view.vertical: inf must be a finite number"),
        (replace(VIEW, observed_at=-1), "field_of_view.observed_at: -1 must not lie before the epoch"),
    ],
)
def test_an_invalid_field_of_view_is_refused(memory: RobotMemory, view: FieldOfView, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=message):
        memory.store_sightings([], field_of_view=view)
