"""Bad messages: each loss has a reason, and nothing is ever raised."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from robotmem_ros.memory import Parameters
from robotmem_ros.perception import DropReason

from ..support.perception.messages import (
    HEADER,
    RECEIPT,
    STAMP,
    STAMP_NS,
    Maker,
    context_of,
    detection,
    extract,
    extractor,
    place_of,
    pose,
)

MARKERS = "visualization_msgs/msg/MarkerArray"
PERCEPTION = "robotmem_ros/msg/Perception"
STRING = "std_msgs/msg/String"


def marker(**values: Any) -> dict[str, Any]:
    return {"header": HEADER, "ns": "mug", "pose": pose(1, 2, 3)} | values


def the_reason(maker: Maker, type_name: str, values: dict[str, Any], **keys: Any) -> DropReason:
    extraction = extract(maker, type_name, values, **keys)
    assert not extraction.observations
    ((reason, count),) = extraction.drops.items()
    assert count == 1
    assert extraction.details[reason]
    return reason


def test_one_bad_element_never_stops_the_others(maker: Maker) -> None:
    bad = [marker(pose=pose(math.nan, 0, 0)), marker(ns="x" * 10_000), marker(action=2)]
    extraction = extract(maker, MARKERS, {"markers": [marker(), *bad, marker(ns="chair")]})
    assert [seen.new.label for seen in extraction.observations] == ["mug", "chair"]
    assert extraction.drops == {DropReason.BAD_POSE: 1, DropReason.BAD_DESCRIPTION: 1, DropReason.NOT_SELECTED: 1}


def test_an_empty_array_is_counted(maker: Maker) -> None:
    assert extract(maker, MARKERS, {"markers": []}).drops == {DropReason.EMPTY_ARRAY: 1}


def test_of_ten_thousand_elements_the_first_are_read_and_the_rest_is_counted(maker: Maker) -> None:
    extraction = extract(
        maker, "diagnostic_msgs/msg/DiagnosticArray", {"status": [{"name": "a", "message": "b"}] * 10_000}
    )
    assert len(extraction.observations) == 1000
    assert extraction.drops == {DropReason.TOO_MANY: 9000}


def test_ten_thousand_detections_can_be_asked_for(maker: Maker) -> None:
    values = {"header": HEADER, "detections": [detection("mug", 0.8)] * 10_000}
    extraction = extract(maker, "vision_msgs/msg/Detection3DArray", values, max_elements=10_000)
    assert len(extraction.observations) == 10_000


def test_a_detection_without_a_hypothesis_says_nothing(maker: Maker) -> None:
    values = {"header": HEADER, "detections": [{"header": HEADER}]}
    assert the_reason(maker, "vision_msgs/msg/Detection3DArray", values) == DropReason.NO_DESCRIPTION


def test_a_detection_without_a_hypothesis_can_be_described_otherwise(maker: Maker) -> None:
    values = {"header": HEADER, "detections": [{"header": HEADER, "bbox": {"center": pose(1, 2, 3)}}]}
    (seen,) = extract(maker, "vision_msgs/msg/Detection3DArray", values, description="something").observations
    assert (seen.new.content, seen.new.label, seen.new.confidence) == ("something", "", 0.9)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"description": ""}, DropReason.NO_DESCRIPTION),
        ({"description": " \u200b\n"}, DropReason.NO_DESCRIPTION),
        ({"description": "x" * 2001}, DropReason.BAD_DESCRIPTION),
        ({"label": "x" * 10_000}, DropReason.BAD_LABEL),
        ({"label": "a\nb"}, DropReason.BAD_LABEL),
        ({"confidence": 1.5}, DropReason.BAD_CONFIDENCE),
        ({"confidence": -0.5}, DropReason.BAD_CONFIDENCE),
        ({"confidence": math.nan}, DropReason.BAD_CONFIDENCE),
        ({"pose": [pose(math.inf, 0, 0)]}, DropReason.BAD_POSE),
        ({"pose": [pose(0, 1e20, 0)]}, DropReason.BAD_POSE),
        ({"header": {**HEADER, "frame_id": "/"}}, DropReason.BAD_FRAME),
        ({"pose": [pose(0, 0, 0, math.nan, 0, 0, 1)]}, DropReason.BAD_POSE),
        ({"pose": [pose(0, 0, 0, math.inf, 0, 0, 1)]}, DropReason.BAD_POSE),
        ({"header": {"stamp": {"sec": -1}}}, DropReason.BAD_STAMP),
        ({"header": {"stamp": {"sec": 1, "nanosec": 2_000_000_000}}}, DropReason.BAD_STAMP),
        ({"header": {"frame_id": "x" * 300}}, DropReason.BAD_FRAME),
        ({"context": "{"}, DropReason.BAD_CONTEXT),
        ({"context": "[1]"}, DropReason.BAD_CONTEXT),
        ({"perception_type": "smell"}, DropReason.BAD_NAME),
        ({"session_id": "x" * 300}, DropReason.BAD_NAME),
    ],
)
def test_each_bad_field_has_its_reason(maker: Maker, values: dict[str, Any], reason: DropReason) -> None:
    good = {"description": "a mug", "confidence": 0.9}
    assert the_reason(maker, PERCEPTION, good | values) == reason


POSE = "geometry_msgs/msg/PoseStamped"
NO_FRAME = {"header": {"stamp": STAMP}, "pose": pose(1, 2, 3)}


def test_a_position_in_a_frame_without_a_name_is_dropped(maker: Maker) -> None:
    extraction = extract(maker, POSE, NO_FRAME)
    assert extraction.drops == {DropReason.BAD_FRAME: 1}
    assert "name the frame in seen.frame" in extraction.details[DropReason.BAD_FRAME]
    detections = {"detections": [detection("mug", 0.9, header={})]}
    assert the_reason(maker, "vision_msgs/msg/Detection3DArray", detections) == DropReason.BAD_FRAME
    keys: dict[str, Any] = {"description": "x", "pose": "", "context": {"spatial": {"place": "pose.position"}}}
    assert the_reason(maker, POSE, NO_FRAME, **keys) == DropReason.BAD_FRAME
    transform = {"header": HEADER, "child_frame_id": ""}
    keys = {"description": "x", "position": "transform.translation", "frame": "child_frame_id"}
    assert extract(maker, "geometry_msgs/msg/TransformStamped", transform, **keys).observations
    keys |= {"at_frame": True, "position": ""}
    assert the_reason(maker, "geometry_msgs/msg/TransformStamped", {}, **keys) == DropReason.BAD_FRAME


@pytest.mark.parametrize(
    ("keys", "frame"), [({"frame": "'camera'"}, "camera"), ({"require_frame": False}, "map")]
)  # fmt: skip
def test_a_frame_without_a_name_can_be_named(maker: Maker, keys: dict[str, Any], frame: str) -> None:
    (seen,) = extract(maker, POSE, NO_FRAME, **keys).observations
    assert (seen.new.frame_id, place_of(seen)) == (frame, (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0))


def test_what_has_no_position_or_whose_type_names_no_frame_needs_none(maker: Maker) -> None:
    nowhere = {"header": {}, "range": 1.0}
    assert extract(maker, "sensor_msgs/msg/Range", nowhere).observations[0].new.frame_id == "map"
    (seen,) = extract(maker, "geometry_msgs/msg/Pose", pose(1, 2, 3), description="x", pose=".").observations
    assert seen.new.frame_id == "map"


@pytest.mark.parametrize("label", ["杯子", "чашка", "كوب", "☕", "x" * 256])
def test_labels_of_any_script_are_kept(maker: Maker, label: str) -> None:
    (seen,) = extract(maker, PERCEPTION, {"description": "a mug", "label": label}).observations
    assert seen.new.label == label


def test_a_zero_quaternion_is_no_orientation_and_another_length_is_made_one(maker: Maker) -> None:
    values = {"markers": [marker(pose=pose(1, 2, 3, 0, 0, 0, 0)), marker(pose=pose(1, 2, 3, 0, 0, 3, 4))]}
    unset, long = extract(maker, MARKERS, values).observations
    assert place_of(unset) == (1.0, 2.0, 3.0)
    assert place_of(long) == (1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8)


@pytest.mark.parametrize("covariance", [[0.0] * 36, [-1.0, *[0.0] * 35], [math.nan] * 36])
def test_a_covariance_that_says_nothing_is_none(maker: Maker, covariance: list[float]) -> None:
    values = {"header": HEADER, "pose": {"pose": pose(1, 2, 3), "covariance": covariance}}
    (seen,) = extract(maker, "nav_msgs/msg/Odometry", values).observations
    assert seen.covariance is None


def test_a_zero_stamp_is_the_time_of_receipt_and_marked(maker: Maker) -> None:
    (seen,) = extract(maker, MARKERS, {"markers": [marker(header={"frame_id": "/map"})]}).observations
    assert (seen.new.observed_at, seen.new.frame_id) == (RECEIPT, "map")


def test_without_stamp_and_clock_there_is_no_time(maker: Maker) -> None:
    message = maker.make(STRING, {"data": "x"})
    assert extractor(maker, STRING).extract(message, 0, Parameters()).drops == {DropReason.NO_STAMP: 1}


def test_the_header_of_the_element_comes_before_that_of_the_message(maker: Maker) -> None:
    other = {"stamp": {"sec": 5}, "frame_id": "camera"}
    detections = [detection("a", 0.5, header=other), detection("b", 0.5, header={})]
    values = {"header": HEADER, "detections": detections}
    first, second = extract(maker, "vision_msgs/msg/Detection3DArray", values).observations
    assert (first.new.observed_at, first.new.frame_id) == (5_000_000_000, "camera")
    assert (second.new.observed_at, second.new.frame_id) == (STAMP_NS, "map")


def test_stamp_frame_position_and_constants_can_be_configured(maker: Maker) -> None:
    values = {"header": HEADER, "transform": {"translation": {"x": 1.0}, "rotation": {"w": 2.0}}}
    (seen,) = extract(
        maker, "geometry_msgs/msg/TransformStamped", values, description="{label} at {score:.1f}", label="'dock'",
        confidence=0.75, frame="child_frame_id", position="transform.translation", orientation="transform.rotation",
        stamp="header.stamp", context={"score": "transform.translation.x", "robot": {"name": "'r2'"}},
    ).observations  # fmt: skip
    assert (seen.new.content, seen.new.label, seen.new.confidence) == ("dock at 1.0", "dock", 0.75)
    assert (place_of(seen), seen.new.frame_id) == ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), "map")
    assert (seen.new.observed_at, context_of(seen)) == (STAMP_NS, {"score": 1.0, "robot": {"name": "r2"}})


def test_an_array_of_texts_can_be_iterated(maker: Maker) -> None:
    values = {"header": HEADER, "name": ["left", "right"]}
    found = extract(maker, "sensor_msgs/msg/JointState", values, each="name", description="joint {.}").observations
    assert [(seen.new.content, seen.new.observed_at) for seen in found] == [
        ("joint left", STAMP_NS),
        ("joint right", STAMP_NS),
    ]


def test_only_what_has_the_wanted_values_is_read(maker: Maker) -> None:
    status = [{"name": str(level), "message": "m", "level": level} for level in (0, 1, 2)]
    extraction = extract(
        maker, "diagnostic_msgs/msg/DiagnosticArray", {"status": status}, only={"level": [1, 2]}
    )  # fmt: skip
    assert [seen.new.label for seen in extraction.observations] == ["1", "2"]
    assert extraction.drops == {DropReason.NOT_SELECTED: 1}


def test_the_context_of_a_message_is_added_to(maker: Maker) -> None:
    values = {"description": "a mug", "context": '{"task": {"name": "tidy"}}', "label": "mug"}
    (seen,) = extract(maker, PERCEPTION, values, context={"task": {"object": "label"}}).observations
    assert context_of(seen) == {"task": {"name": "tidy", "object": "mug"}}
    (seen,) = extract(maker, PERCEPTION, values, context={'task."object.label"': "label", '""': "label"}).observations
    assert context_of(seen) == {"task": {"name": "tidy", "object.label": "mug"}, "": "mug"}
    assert the_reason(maker, PERCEPTION, values | {"context": '{"task": 5}'}, context={"task.object": "label"}) == (
        DropReason.BAD_CONTEXT
    )


def test_a_context_is_no_place_for_a_cloud(maker: Maker) -> None:
    values = {"name": ["a"], "position": [0.0] * 1001}
    assert the_reason(maker, "sensor_msgs/msg/JointState", values) == DropReason.BAD_CONTEXT


@pytest.mark.parametrize("message", [None, 5, SimpleNamespace(), SimpleNamespace(header=None, markers=5)])
def test_what_is_no_message_of_the_type_is_unreadable(maker: Maker, message: object) -> None:
    for type_name in (MARKERS, STRING, "nav_msgs/msg/Odometry"):
        extraction = extractor(maker, type_name).extract(message, RECEIPT, Parameters())
        assert extraction.drops == Counter([DropReason.UNREADABLE])
        assert extraction.stamp_ns == RECEIPT


def test_the_time_of_a_message_is_its_header_s(maker: Maker) -> None:
    odometry = "nav_msgs/msg/Odometry"
    stamps = [
        extractor(maker, odometry)
        .extract(maker.make(odometry, {"header": {"stamp": stamp}}), RECEIPT, Parameters())
        .stamp_ns
        for stamp in (STAMP, {}, {"sec": -1})
    ]
    assert stamps == [STAMP_NS, RECEIPT, RECEIPT]
