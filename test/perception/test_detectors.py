"""Messages as the nodes of common detectors fill them: topic and type suffice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from robotmem_ros.frames import Transform
from robotmem_ros.memory import Memory, Parameters, RobotMemory
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.models import Size
from robotmem_ros.perception import DropReason, Intake, Observation

from ..support.perception.intakes import SECOND, header, settled, stored, transforms
from ..support.perception.messages import (
    HEADER,
    RECEIPT,
    STAMP_NS,
    Maker,
    RosbagsMaker,
    context_of,
    detection,
    extract,
    extractor,
    place_of,
    pose,
)

Made = Callable[..., Intake]
ARRAY_2D = "vision_msgs/msg/Detection2DArray"
ARRAY_3D = "vision_msgs/msg/Detection3DArray"
YOLO = "yolo_msgs/msg/DetectionArray"
ZED = "zed_msgs/msg/ObjectsStamped"
SPATIAL = "depthai_ros_msgs/msg/SpatialDetectionArray"
TRACKS = "depthai_ros_msgs/msg/TrackDetection2DArray"
TAGS = "apriltag_msgs/msg/AprilTagDetectionArray"
LOG = "rcl_interfaces/msg/Log"
TREE = "nav2_msgs/msg/BehaviorTreeLog"
STATUS = "action_msgs/msg/GoalStatusArray"
UNIT = (0.0, 0.0, 0.0, 1.0)
Received = tuple[float, dict[str, Any]]
"""Seconds of receipt after the first message, and the values of a message."""


def time(second: float) -> dict[str, int]:
    whole, rest = divmod(round(STAMP_NS + second * SECOND), SECOND)
    return {"sec": whole, "nanosec": rest}


def feed(intake: Intake, maker: RosbagsMaker, type_name: str, messages: Iterable[Received]) -> None:
    for second, values in messages:
        intake.receive("seen", maker.make(type_name, values), STAMP_NS + round(second * SECOND))


def all_of(memory: RobotMemory) -> list[Memory]:
    """Return what is stored, in its order; equal texts are not folded."""
    memory.flush()
    found = memory.recall(n=100, min_confidence=0.0, kinds="perception", after=1, include_unconfirmed=True, fold=False)
    return sorted(found.memories, key=lambda one: one.id)


def contents(memory: RobotMemory) -> list[str]:
    return [one.content for one in all_of(memory)]


def yolo(name: str, x: float, frame: str, track: str = "") -> dict[str, Any]:
    box = {"center": pose(x, 0.0, 0.0), "size": {"x": 0.7, "y": 0.2, "z": 0.2}, "frame_id": frame}
    return {"class_id": 56, "class_name": name, "score": 0.83, "id": track, "bbox3d": box if frame else {}}


def test_yolo_names_the_frame_of_each_box_in_space(maker: Maker) -> None:
    values = {"header": header("camera_color_optical_frame"), "detections": [yolo("chair", 2.3, "base_link", "2")]}
    (seen,) = extract(maker, YOLO, values).observations
    assert (seen.new.label, seen.new.confidence, seen.new.identity) == ("chair", 0.83, "2")
    assert (seen.new.frame_id, place_of(seen)) == ("base_link", (2.3, 0.0, 0.0, *UNIT))
    assert seen.new.size == Size(0.7, 0.2, 0.2)


def test_yolo_without_depth_gives_no_place(maker: Maker) -> None:
    values = {"header": header("camera_color_optical_frame"), "detections": [yolo("chair", 2.3, "")]}
    assert extract(maker, YOLO, values).drops == {DropReason.NO_POSE: 1}


def zed(label: str, state: int = 1, **values: Any) -> dict[str, Any]:
    covariance = [0.04, 0.01, 0.0, 0.04, 0.0, 0.09]
    place = {"position": [2.0, 0.5, 0.25], "position_covariance": covariance, "dimensions_3d": [0.5, 1.75, 0.75]}
    return {"label": label, "label_id": 3, "confidence": 75.0, "tracking_state": state, **place, **values}


def test_zed_gives_percent_arrays_and_predictions(maker: Maker) -> None:
    objects = [zed("Vehicle", sublabel="Car"), zed("Person", state=2), zed("Person", state=3), zed("Bag", state=0)]
    extraction = extract(maker, ZED, {"header": header("zed_left_camera_frame"), "objects": objects})
    car, bag = extraction.observations
    assert extraction.drops == {DropReason.NOT_SELECTED: 2}
    assert (car.new.label, car.new.confidence, car.new.identity) == ("Vehicle", 0.75, "3")
    assert (place_of(car), car.new.frame_id) == ((2.0, 0.5, 0.25), "zed_left_camera_frame")
    assert car.covariance is not None
    assert [round(number, 6) for row in car.covariance for number in row] == [0.04, 0.01, 0, 0.01, 0.04, 0, 0, 0, 0.09]
    assert context_of(car)["params"] == {"sublabel": "Car", "velocity": [0.0, 0.0, 0.0]}
    assert car.new.size == Size(0.75, 0.5, 1.75)
    assert bag.new.label == "Bag"


def test_zed_without_depth_or_tracking_gives_no_place_and_no_identity(maker: Maker) -> None:
    objects = [zed("Bag", position=[math.nan] * 3), zed("Bag", position=[0.0] * 3), zed("Bag", state=0, label_id=-1)]
    extraction = extract(maker, ZED, {"header": HEADER, "objects": objects})
    assert extraction.drops == {DropReason.BAD_POSE: 1, DropReason.NO_POSE: 1}
    assert [seen.new.identity for seen in extraction.observations] == [""]


def test_depthai_gives_metres_beside_a_box_in_pixels(maker: Maker) -> None:
    box = {"center": pose(320.0, 240.0, 0.0), "size": {"x": 64.0, "y": 48.0, "z": 0.01}}
    results = [{"hypothesis": {"class_id": "56", "score": 0.9}, "pose": {"pose": pose(0.4, -0.1, 2.5)}}]
    (seen,) = extract(
        maker, ARRAY_3D, {"header": HEADER, "detections": [{"results": results, "bbox": box}]}
    ).observations
    assert (seen.new.label, place_of(seen)) == ("56", (0.4, -0.1, 2.5, *UNIT))


def test_a_box_of_a_detector_may_be_left_at_the_origin_beside_a_pose(maker: Maker) -> None:
    box = {"center": pose(0.0, 0.0, 0.0), "size": {"x": 0.2, "y": 0.2, "z": 0.2}}
    results = [{"hypothesis": {"class_id": "book", "score": 0.6}, "pose": {"pose": pose(1.3, 0.0, 0.0)}}]
    (seen,) = extract(
        maker, ARRAY_3D, {"header": HEADER, "detections": [{"results": results, "bbox": box}]}
    ).observations
    assert place_of(seen) == (1.3, 0.0, 0.0, *UNIT)


def test_depthai_without_depth_gives_no_place(maker: Maker) -> None:
    results = [{"class_id": "5", "score": 0.9}]
    near = {"results": results, "position": {"x": 0.1, "y": 0.2, "z": 1.5}, "tracking_id": "8"}
    extraction = extract(maker, SPATIAL, {"header": HEADER, "detections": [near, {"results": results}]})
    (seen,) = extraction.observations
    assert (seen.new.label, seen.new.identity, place_of(seen)) == ("5", "8", (0.1, 0.2, 1.5))
    assert extraction.drops == {DropReason.NO_POSE: 1}


def test_depthai_tells_which_tracks_it_has_lost(maker: Maker) -> None:
    def track(status: int, x: float) -> dict[str, Any]:
        results = [{"hypothesis": {"class_id": "5", "score": 0.5}, "pose": {"pose": pose(x, 0, 0)}}]
        return {"results": results, "tracking_id": str(status), "tracking_status": status}

    tracks = [track(0, 1.0), track(1, 2.0), track(2, 3.0), track(3, 4.0), track(1, 0.0)]
    extraction = extract(maker, TRACKS, {"header": HEADER, "detections": tracks})
    assert [seen.new.identity for seen in extraction.observations] == ["0", "1"]
    assert extraction.drops == {DropReason.NOT_SELECTED: 2, DropReason.NO_POSE: 1}


def test_aruco_markers_are_named_by_their_numbers(maker: Maker) -> None:
    values = {"header": header("camera"), "marker_ids": [7, 23], "poses": [pose(1, 0.5, 0.2), pose(2, -0.5, 0.2)]}
    found = extract(maker, "ros2_aruco_interfaces/msg/ArucoMarkers", values).observations
    assert [(seen.new.label, seen.new.identity, seen.new.frame_id) for seen in found] == [
        ("aruco marker 7", "7", "camera"), ("aruco marker 23", "23", "camera"),
    ]  # fmt: skip
    assert place_of(found[1]) == (2.0, -0.5, 0.2, *UNIT)


def test_an_april_tag_lies_where_its_frame_is(make: Made, memory: RobotMemory, rosbags: RosbagsMaker) -> None:
    intake = make(TAGS)
    values = {"header": header("camera"), "detections": [{"family": "tag36h11", "id": 4, "decision_margin": 80.0}]}
    intake.receive("seen", rosbags.make(TAGS, values), STAMP_NS)
    assert settled(memory, intake).waiting_count == 1
    intake.receive_tf(transforms(rosbags, "map", "camera", STAMP_NS, Transform(x=10.0)), static=False)
    intake.receive_tf(transforms(rosbags, "camera", "tag36h11:4", STAMP_NS, Transform(x=2.0, z=1.0)), static=False)
    (tag,) = stored(memory)
    assert (tag.label, tag.frame_id, tag.pose and tag.pose[:3]) == ("tag tag36h11:4", "map", (12.0, 0.0, 1.0))


def test_intel_s_detectors_give_names_and_boxes_in_pixels(maker: Maker) -> None:
    thing = {
        "object": {"object_name": "cup", "probability": 0.75},
        "roi": {"x_offset": 10, "y_offset": 20, "width": 30},
    }
    values = {"header": header("camera"), "objects_vector": [thing]}
    (seen,) = extract(maker, "object_msgs/msg/ObjectsInBoxes", values).observations
    assert (seen.new.content, seen.new.confidence) == ("cup in the image of camera", 0.75)
    assert context_of(seen)["params"]["bbox"] == {"left": 10, "top": 20, "width": 30, "height": 0}


def test_a_point_is_where_somebody_clicked(maker: Maker) -> None:
    values = {"header": HEADER, "point": {"x": 1.0, "y": 2.0, "z": 0.0}}
    (seen,) = extract(maker, "geometry_msgs/msg/PointStamped", values).observations
    assert (seen.new.content, place_of(seen)) == ("point (1.00, 2.00, 0.00) in map", (1.0, 2.0, 0.0))


FIX = "sensor_msgs/msg/NavSatFix"


def fix(latitude: float, longitude: float, altitude: float = 400.0, status: int = 0) -> dict[str, Any]:
    covariance = [4.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 9.0]
    place = {"latitude": latitude, "longitude": longitude, "altitude": altitude, "position_covariance": covariance}
    return {"header": {"frame_id": "gps"}, "status": {"status": status}, **place}


def located(maker: Maker, values: dict[str, Any], datum: str) -> Observation:
    message = maker.make(FIX, values)
    (seen,) = extractor(maker, FIX).extract(message, RECEIPT, Parameters(datum=datum)).observations
    return seen


def test_a_fix_is_a_position_in_the_memory_frame_by_a_datum(maker: Maker) -> None:
    east, north = fix(47.0, 8.0013148), fix(47.00089951, 8.0)
    seen = located(maker, east, "47.0, 8.0")
    assert (seen.new.frame_id, seen.new.content) == ("map", "GNSS fix 47.000000, 8.001315, altitude 400.0 m")
    assert place_of(seen) == pytest.approx((100.0, 0.0, 0.0), abs=0.02)
    assert seen.covariance == ((4.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 9.0))
    assert place_of(located(maker, north, "47.0, 8.0")) == pytest.approx((0.0, 100.0, 0.0), abs=0.02)
    assert place_of(located(maker, fix(47.0, 8.0), "47.0, 8.0, 380")) == pytest.approx((0.0, 0.0, 20.0), abs=1e-6)
    assert place_of(located(maker, fix(47.0, 8.0, math.nan), "47.0, 8.0, 380")) == (0.0, 0.0, 0.0)


def test_the_memory_frame_may_be_turned_against_east(maker: Maker) -> None:
    turned = located(maker, fix(47.00089951, 8.0), f"47.0, 8.0, 400, {math.pi / 2}")
    assert place_of(turned) == pytest.approx((100.0, 0.0, 0.0), abs=0.02)
    assert turned.covariance is not None
    assert [round(number, 9) + 0.0 for row in turned.covariance for number in row] == [1, 0, 0, 0, 4, 0, 0, 0, 9]


def test_a_fix_without_a_datum_has_no_position_and_is_told_once(maker: Maker, caplog: pytest.LogCaptureFixture) -> None:
    reader = extractor(maker, FIX)
    for _ in range(2):
        (seen,) = reader.extract(maker.make(FIX, fix(47.0, 8.0)), RECEIPT, Parameters()).observations
        assert seen.new.pose is None
        assert context_of(seen)["robot"] == {"latitude": 47.0, "longitude": 8.0, "altitude": 400.0}
    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "/seen: fixes are stored without a position"
    ]


def test_no_fix_and_no_place_on_earth_are_dropped(maker: Maker) -> None:
    reader, parameters = extractor(maker, FIX), Parameters(datum="47, 8")
    for values, reason in (
        (fix(47.0, 8.0, status=-1), DropReason.NOT_SELECTED), (fix(math.nan, 8.0), DropReason.BAD_POSE),
        (fix(91.0, 8.0), DropReason.BAD_POSE), (fix(47.0, 181.0), DropReason.BAD_POSE),
        (fix(0.0, 0.0, status=-2), DropReason.NO_POSE),
    ):  # fmt: skip
        assert reader.extract(maker.make(FIX, values), RECEIPT, parameters).drops == {reason: 1}


@pytest.mark.parametrize("datum", ["47", "x, y", "91, 0", "0, 181", "0, 0, nan", "0, 0, 0, 7", "0, 0, 0, 0, 0", "1, "])
def test_a_datum_that_is_none_is_refused(datum: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"datum: .* must be `latitude, longitude` in degrees"):
        Parameters(datum=datum)


def test_detections_in_an_image_do_not_flood(make: Made, memory: RobotMemory, rosbags: RosbagsMaker) -> None:
    def message(n: int) -> dict[str, Any]:
        labels = ["mug", "mug", *(["cat"] if 100 <= n < 109 else [])]
        things = [detection(label, 0.8, header={}) | {"bbox": {}} for label in labels]
        return {"header": header("camera", STAMP_NS + n * SECOND // 8), "detections": things}

    feed(make(ARRAY_2D), rosbags, ARRAY_2D, ((n / 8, message(n)) for n in range(360)))
    # 45 s at 8 Hz: two mugs, every 10 s; what comes into the image is stored within a second.
    assert contents(memory).count("mug in the image of camera") == 2 * 5
    assert contents(memory).count("cat in the image of camera") == 1


def line(second: float, level: int, text: str, name: str = "planner_server", at: int = 7) -> Received:
    return second, {"stamp": time(second), "level": level, "name": name, "msg": text, "line": at, "function": "plan"}


def test_of_the_log_warnings_are_stored_once_a_minute_for_each_line_of_code(
    make: Made, memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    lines = [line(n / 10, 30, f"no path after {n / 10:.1f} s") for n in range(1210)]
    lines += [line(121.0, 20, "fine"), line(121.0, 40, "x" * 5000, at=8), line(121.0, 50, "over", at=9)]
    lines += [line(121.0, 30, "mine", name="memory")]
    feed(make(LOG), rosbags, LOG, lines)
    texts = contents(memory)
    assert texts[:3] == [f"planner_server: no path after {n}.0 s" for n in (0, 60, 120)]
    assert [len(texts[3]), *texts[4:]] == [len("planner_server: ") + 1500, "planner_server: over"]
    assert all_of(memory)[0].perception_type == "proprioceptive"


def step(second: float, *changes: tuple[str, str, str]) -> Received:
    names = ("node_name", "previous_status", "current_status")
    events = [{"timestamp": {"sec": 5}, **dict(zip(names, change, strict=True))} for change in changes]
    return second, {"timestamp": time(second), "event_log": events}


def test_of_a_behavior_tree_results_are_stored_when_they_change(
    make: Made, memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    plan = ("ComputePathToPose", "RUNNING", "SUCCESS")
    steps = [step(n, ("ComputePathToPose", "IDLE", "RUNNING"), plan, ("GoalUpdated", "IDLE", "FAILURE"))
             for n in range(45)]  # fmt: skip
    steps += [step(45, ("FollowPath", "RUNNING", "FAILURE")), step(46, ("Spin", "RUNNING", "SUCCESS"))]
    steps += [step(47, ("FollowPath", "RUNNING", "FAILURE")), step(48, ("FollowPath", "RUNNING", "SUCCESS"))]
    steps += [step(70, plan)]
    feed(make(TREE), rosbags, TREE, steps)
    results = [(one.label, one.observed_at // SECOND) for one in all_of(memory)]
    start = STAMP_NS // SECOND
    assert results == [("ComputePathToPose", start), ("FollowPath", start + 45), ("Spin", start + 46),
                       ("FollowPath", start + 48), ("ComputePathToPose", start + 70)]  # fmt: skip
    assert contents(memory)[1] == "FollowPath of the behavior tree ended with FAILURE"


def goals(second: float, *states: int) -> Received:
    ids = [{"goal_id": {"uuid": [number] * 16}} for number in range(len(states))]
    return second, {"status_list": [{"goal_info": i, "status": s} for i, s in zip(ids, states, strict=True)]}


def test_of_an_action_each_goal_is_stored_once_it_ended(make: Made, memory: RobotMemory, rosbags: RosbagsMaker) -> None:
    intake = make(STATUS, keys={"topic": "/navigate_to_pose/_action/status"})
    feed(
        intake, rosbags, STATUS, [goals(0, 1), goals(1, 2), goals(2, 4), goals(3, 4, 2), goals(4, 4, 6), goals(5, 4, 6)]
    )
    assert contents(memory) == ["goal of /navigate_to_pose/_action/status: succeeded",
                                "goal of /navigate_to_pose/_action/status: aborted"]  # fmt: skip


def placed(memories: Iterable[Memory]) -> list[tuple[str, tuple[float, ...]]]:
    return [(one.label, one.pose[:3]) for one in memories if one.pose]


def test_a_thing_with_a_place_is_no_repetition(make: Made, memory: RobotMemory, rosbags: RosbagsMaker) -> None:
    intake = make(ARRAY_3D, keys={"repeat_interval": 60.0})
    arrays = [
        (n, {"header": header("map", STAMP_NS + n * SECOND), "detections": [detection("mug", 0.9)]}) for n in range(5)
    ]
    feed(intake, rosbags, ARRAY_3D, arrays)
    assert settled(memory, intake).stored_count == 5
    assert placed(stored(memory)) == [("mug", (1.0, 2.0, 3.0))]
