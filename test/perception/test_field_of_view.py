"""Fields of view: an object that was moved away loses confidence, and nothing else does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from robotmem_ros.frames import Transform, TransformBuffer
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.perception import DropReason, Intake, TopicCounts, TopicError, parse_topic

from ..support.perception.messages import PRESETS, STAMP_NS, RosbagsMaker, detection, pose
from ..support.sightings import missed

SECOND = 1_000_000_000
DETECTIONS = "vision_msgs/msg/Detection3DArray"
VIEW = {"field_of_view.range": 5.0, "field_of_view.horizontal": 1.2, "field_of_view.vertical": 1.2}
AHEAD = Transform(0.0, 0.0, 1.0)
BACK = Transform(0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0)
CHAIR, MOVED = (2.0, 0.0, 0.0), (3.5, 1.0, 0.0)
Place = tuple[float, float, float]


class Camera:
    """An intake for what one camera detects, once a second, and a way to turn the camera."""

    def __init__(self, memory: RobotMemory, rosbags: RosbagsMaker, frame: str, keys: dict[str, Any]) -> None:
        self.memory = memory
        self._maker = rosbags
        self._frame = frame
        self._seconds = 0
        self._buffer = TransformBuffer()
        config = parse_topic("seen", {"topic": "/seen", "type": DETECTIONS, **keys}, PRESETS)
        self.intake = Intake(memory, [config], rosbags.types, buffer=self._buffer, transform_timeout=60.0)

    def turn(self, transform: Transform) -> None:
        self._buffer.add("map", "camera", 0, transform, static=True)
        # x is right, y is down, z is ahead.
        optical = Transform(qx=-0.5, qy=0.5, qz=-0.5, qw=0.5)
        self._buffer.add("camera", "camera_optical_frame", 0, optical, static=True)

    def sees(self, *places: Place, label: str = "chair", times: int = 1) -> None:
        """Detections at places ahead, left and up of the camera."""
        for _ in range(times):
            self._seconds += 1
            stamp = {"sec": STAMP_NS // SECOND + self._seconds, "nanosec": 0}
            header = {"stamp": stamp, "frame_id": self._frame}
            found = [detection(label, 0.9, header=header, bbox={"center": self._pose(place)}) for place in places]
            message = self._maker.make(DETECTIONS, {"header": header, "detections": found})
            self.intake.receive("seen", message, 0)
        self.memory.flush()

    def counts(self) -> TopicCounts:
        return self.intake.counts()["seen"]

    def missed(self) -> list[bool]:
        """Return for each object whether a look did not detect it."""
        return [number > 0 for number in missed(self.memory).values()]

    def _pose(self, place: Place) -> dict[str, Any]:
        ahead, left, up = place
        return pose(-left, -up, ahead) if "optical" in self._frame else pose(ahead, left, up)


Make = Callable[..., Camera]


@pytest.fixture
def make(rosbags: RosbagsMaker, request: pytest.FixtureRequest) -> Make:
    def made(frame: str = "camera", **keys: Any) -> Camera:
        memory = RobotMemory(":memory:", embedding_model="")
        request.addfinalizer(memory.close)
        camera = Camera(memory, rosbags, frame, {**VIEW, **keys})
        camera.turn(AHEAD)
        return camera

    return made


@pytest.mark.parametrize("frame", ["camera", "camera_optical_frame"])
def test_a_moved_object_is_at_its_new_place_and_the_old_one_fades(make: Make, frame: str) -> None:
    camera = make(frame)
    camera.sees(CHAIR, times=3)
    camera.sees(MOVED, times=12)
    assert camera.missed() == [True, False]
    (found,) = camera.memory.recall("chair")
    assert found.memory.pose is not None
    assert found.memory.pose[:3] == pytest.approx((3.5, 1.0, 1.0))
    gone = camera.memory.objects(include_unconfirmed=True)[-1]
    assert (gone.times_seen, gone.last_seen) == (3, STAMP_NS // SECOND * SECOND + 3 * SECOND)
    assert (camera.counts().fields_of_view, camera.counts().fields_of_view_dropped) == (15, 0)


def test_an_empty_array_has_a_field_of_view(make: Make) -> None:
    camera = make()
    camera.sees(CHAIR)
    assert camera.missed() == [False]
    camera.sees()
    assert camera.missed() == [True]


@pytest.mark.parametrize(
    "away",
    [BACK, Transform(-3.0, 0.0, 1.0), Transform(0.0, 0.0, 1.0, 0.0, 0.0, math.sin(0.4), math.cos(0.4)),
     Transform(2.0, 0.0, 1.1), Transform(0.0, 0.0, 3.0)],
)  # fmt: skip
def test_an_object_out_of_view_keeps_its_confidence(make: Make, away: Transform) -> None:
    camera = make()
    camera.sees(CHAIR)
    camera.turn(away)
    camera.sees(times=9)
    assert camera.missed() == [False]
    assert camera.counts().fields_of_view == 10


def test_a_message_waits_for_the_pose_of_the_sensor(make: Make) -> None:
    camera = make(**{"field_of_view.frame": "lens"})
    camera.sees(CHAIR)
    camera.sees(times=5)
    assert (camera.counts().stored_count, camera.counts().waiting_count, camera.counts().fields_of_view) == (0, 1, 0)
    camera._buffer.add("camera", "lens", 0, Transform(), static=True)
    camera.intake.collect()
    camera.memory.flush()
    assert (camera.counts().stored_count, camera.counts().fields_of_view) == (1, 6)
    assert camera.missed() == [True]


def test_without_the_place_of_the_sensor_no_absence_is_noticed_and_the_rest_is_stored(make: Make) -> None:
    camera = make(**{"field_of_view.frame": "lens"})
    camera.sees(CHAIR)
    camera.sees(times=5)
    camera.intake.finish()
    camera.memory.flush()
    counts = camera.counts()
    assert (counts.stored_count, counts.fields_of_view, counts.fields_of_view_dropped) == (1, 0, 6)
    assert "'lens'" in counts.last_drop
    assert camera.missed() == [False]


def test_detections_in_the_map_need_the_frame_of_their_sensor(make: Make) -> None:
    nameless, named = make("map"), make("map", **{"field_of_view.frame": "camera"})
    for camera in (nameless, named):
        camera.sees((2.0, 0.0, 1.0))
        camera.sees(times=3)
    assert nameless.missed() == [False]
    assert named.missed() == [True]
    assert "field_of_view.frame" in nameless.counts().last_drop
    assert (nameless.counts().fields_of_view_dropped, named.counts().fields_of_view) == (4, 4)


def test_a_detection_dropped_by_sampling_is_not_absent(make: Make) -> None:
    camera = make(min_displacement=0.5)
    camera.sees(CHAIR, times=10)
    assert camera.counts().drops == {DropReason.MIN_DISPLACEMENT: 9}
    assert camera.missed() == [False]
    camera.sees(times=3)
    assert camera.missed() == [True]


def test_a_message_with_an_unusable_part_notices_no_absence(make: Make) -> None:
    camera = make()
    camera.sees(CHAIR)
    camera.sees((math.nan, 0.0, 0.0), times=9)
    assert camera.missed() == [False]
    assert camera.counts().drops == {DropReason.BAD_POSE: 9}


def test_a_message_that_comes_too_soon_has_no_field_of_view(make: Make) -> None:
    camera = make(min_interval=100.0)
    camera.sees(CHAIR)
    camera.sees((9.0, 0.0, 0.0), times=9)
    assert camera.missed() == [False]
    assert camera.counts().fields_of_view == 1


def test_other_detectors_miss_nothing_of_this_one(make: Make) -> None:
    camera = make()
    keys = new_perception(
        camera.memory.parameters,
        NewPerception(description="keys", label="keys", pose=(2.0, 0.0, 1.0)),
        now=lambda: STAMP_NS,
    )
    camera.memory.store_sightings([replace(keys, stream="/vlm")]).result()
    camera.sees((2.0, 0.5, 0.0))
    camera.sees(times=3)
    found = sorted(camera.memory.objects(include_unconfirmed=True), key=lambda one: one.memory_id)
    assert dict(zip((one.label for one in found), camera.missed(), strict=True)) == {"keys": False, "chair": True}


def test_absence_is_off_by_default(make: Make) -> None:
    camera = make(**{"field_of_view.range": 0.0})
    camera.sees(CHAIR)
    camera.sees(times=9)
    assert (camera.missed(), camera.counts().fields_of_view) == ([False], 0)


@pytest.mark.parametrize(
    ("type_name", "keys", "message"),
    [
        (
            "geometry_msgs/msg/PoseStamped",
            {},
            "seen.field_of_view.range: .* one message must hold all that is seen at once",
        ),
        ("visualization_msgs/msg/MarkerArray", {}, "seen.field_of_view.frame: .* has no header to name the frame"),
    ],
)
def test_a_field_of_view_that_no_message_can_have_is_an_error_at_start(
    rosbags: RosbagsMaker, type_name: str, keys: dict[str, Any], message: str
) -> None:
    config = parse_topic("seen", {"topic": "/seen", "type": type_name, **VIEW, **keys}, PRESETS)
    with RobotMemory(":memory:", embedding_model="") as memory, pytest.raises(TopicError, match=message):
        Intake(memory, [config], rosbags.types, buffer=TransformBuffer(), transform_timeout=1.0)
