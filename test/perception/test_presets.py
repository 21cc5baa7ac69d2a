"""Each preset: topic and type suffice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import Kind, Pose
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.models import NewMemory, Size
from robotmem_ros.perception import DropReason, Observation, load_presets, parse_topic

from ..support.perception.messages import (
    HEADER,
    PRESETS,
    RECEIPT,
    STAMP_NS,
    Maker,
    context_of,
    detection,
    extract,
    extractor,
    place_of,
    pose,
)

COVARIANCE = [0.25, 0.01, *[0.0] * 4, 0.01, 0.24, *[0.0] * 27, 0.07]
VECTOR = {"x": 1.0, "y": 2.0, "z": 3.0}


def the_one(maker: Maker, type_name: str, values: dict[str, Any], **keys: Any) -> Observation:
    extraction = extract(maker, type_name, values, **keys)
    assert not extraction.drops, extraction.details
    (observation,) = extraction.observations
    return observation


@pytest.mark.parametrize("type_name", PRESETS)
def test_every_preset_fits_its_type(maker: Maker, type_name: str) -> None:
    maker.make(type_name, {})
    extractor(maker, type_name)


@pytest.mark.parametrize("type_name", PRESETS)
def test_an_unset_message_of_every_preset_gives_perceptions_or_reasons_but_never_an_exception(
    maker: Maker, type_name: str
) -> None:
    extraction = extract(maker, type_name, {})
    assert len(extraction.observations) + sum(extraction.drops.values()) == 1
    assert DropReason.UNREADABLE not in extraction.drops, extraction.details


def test_a_detection_in_space_has_label_score_place_size_and_identity(maker: Maker) -> None:
    values = {"header": HEADER, "detections": [detection("mug", 0.8, id="7")]}
    seen = the_one(maker, "vision_msgs/msg/Detection3DArray", values)
    assert seen.new == NewMemory(
        Kind.PERCEPTION, "mug", "default", STAMP_NS, "map", "", pose=Pose(1.0, 2.0, 3.0),
        size=Size(0.1, 0.2, 0.3), perception_type="visual", label="mug", confidence=0.8, source="topic",
        stream="/seen", identity="7",
    )  # fmt: skip
    assert seen.has_orientation


UNSET_BOXES: list[dict[str, Any]] = [
    {},
    {"center": pose(0, 0, 0, 0, 0, 0, 0), "size": VECTOR | {"x": 0.0, "y": 0.0, "z": 0.0}},
    {"center": pose(0, 0, 0)},
    {"center": pose(math.nan, 0, 0)},
]


@pytest.mark.parametrize("box", UNSET_BOXES)
def test_a_detection_without_a_box_lies_where_its_hypothesis_is(maker: Maker, box: dict[str, Any]) -> None:
    results = [
        {"hypothesis": {"class_id": "cup", "score": 0.2}, "pose": {"pose": pose(9, 9, 9)}},
        {"hypothesis": {"class_id": "mug", "score": 0.7}, "pose": {"pose": pose(1, 2, 3)}},
    ]
    values = {"header": HEADER, "detections": [{"results": results, "bbox": box}]}
    assert place_of(the_one(maker, "vision_msgs/msg/Detection3DArray", values)) == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("turn", [(), (0, 0, 0, 0)])
@pytest.mark.parametrize("box", UNSET_BOXES[:3])
def test_a_detection_without_any_pose_is_not_stored_where_the_camera_is(
    maker: Maker, box: dict[str, Any], turn: tuple[float, ...]
) -> None:
    results = [{"hypothesis": {"class_id": "mug", "score": 0.7}, "pose": {"pose": pose(0, 0, 0, *turn)}}]
    values = {"header": HEADER, "detections": [{"results": results, "bbox": box}]}
    extraction = extract(maker, "vision_msgs/msg/Detection3DArray", values)
    assert not extraction.observations
    assert extraction.drops == {DropReason.NO_POSE: 1}


def test_a_box_with_a_size_may_lie_at_the_origin_of_its_frame(maker: Maker) -> None:
    box = {"center": pose(0, 0, 0), "size": {"x": 0.1, "y": 0.1, "z": 0.1}}
    values = {"header": HEADER, "detections": [detection("tag", 1.0, bbox=box)]}
    assert place_of(the_one(maker, "vision_msgs/msg/Detection3DArray", values)) == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def test_a_pose_at_the_origin_is_one_and_a_pose_of_nothing_but_zeros_is_none(maker: Maker) -> None:
    kind = "geometry_msgs/msg/PoseStamped"
    assert place_of(the_one(maker, kind, {"header": HEADER, "pose": pose(0, 0, 0)})) == (
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        1.0,
    )
    unset = extract(maker, kind, {"header": HEADER, "pose": pose(0, 0, 0, 0, 0, 0, 0)})
    assert unset.drops == {DropReason.NO_POSE: 1}
    assert unset.details == {DropReason.NO_POSE: "neither position nor orientation is set"}


def test_a_marker_without_a_pose_is_where_its_frame_is(maker: Maker) -> None:
    unset = {"header": HEADER, "ns": "docks", "pose": pose(0, 0, 0, 0, 0, 0, 0)}
    assert place_of(the_one(maker, "visualization_msgs/msg/Marker", unset)) == (0.0, 0.0, 0.0)


def test_of_several_hypotheses_the_most_probable_names_the_thing_and_gives_its_covariance(maker: Maker) -> None:
    results = [
        {"hypothesis": {"class_id": "cup", "score": 0.2}},
        {"hypothesis": {"class_id": "mug", "score": 0.7}, "pose": {"covariance": COVARIANCE}},
        {"hypothesis": {"class_id": "vase", "score": math.nan}},
    ]
    values = {"header": HEADER, "detections": [{"results": results, "bbox": {"center": pose(1, 2, 3)}}]}
    seen = the_one(maker, "vision_msgs/msg/Detection3DArray", values)
    assert (seen.new.label, seen.new.confidence, seen.new.frame_id, seen.new.observed_at) == (
        "mug",
        0.7,
        "map",
        STAMP_NS,
    )
    assert seen.covariance == ((0.25, 0.01, 0.0), (0.01, 0.24, 0.0), (0.0, 0.0, 0.0))


def test_a_detection_in_an_image_has_its_box_and_no_place(maker: Maker) -> None:
    box = {"center": {"position": {"x": 320.0, "y": 240.0}}, "size_x": 64.0, "size_y": 48.0}
    values = {"header": HEADER, "detections": [detection("mug", 0.8) | {"bbox": box}]}
    seen = the_one(maker, "vision_msgs/msg/Detection2DArray", values)
    assert seen.new.content == "mug in the image of map"
    assert seen.new.pose is None
    assert context_of(seen) == {"params": {"bbox": {"x": 320.0, "y": 240.0, "width": 64.0, "height": 48.0}}}


@pytest.mark.parametrize("type_name", ["visualization_msgs/msg/Marker", "visualization_msgs/msg/MarkerArray"])
def test_a_marker_that_is_added_is_seen_and_one_that_is_taken_away_is_not(maker: Maker, type_name: str) -> None:
    marker = {"header": HEADER, "ns": "docks", "id": 3, "text": "free", "pose": pose(1, 2, 3)}
    for action, count in ((0, 1), (2, 0), (3, 0)):
        values: dict[str, Any] = marker | {"action": action}
        extraction = extract(maker, type_name, {"markers": [values]} if type_name.endswith("Array") else values)
        assert len(extraction.observations) == count
        assert extraction.drops[DropReason.NOT_SELECTED] == 1 - count
        for seen in extraction.observations:
            assert (seen.new.content, seen.new.label, seen.new.identity) == ("marker docks 3 free", "docks", "docks/3")
            assert (seen.new.frame_id, seen.new.observed_at) == ("map", STAMP_NS)


def test_a_pose_keeps_its_place(maker: Maker) -> None:
    seen = the_one(maker, "geometry_msgs/msg/PoseStamped", {"header": HEADER, "pose": pose(1, 2, 3)})
    assert seen.new.content == "pose (1.00, 2.00, 3.00) in map"
    assert place_of(seen) == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)
    assert seen.new.perception_type == "proprioceptive"


def test_a_pose_with_covariance_keeps_that_of_its_position(maker: Maker) -> None:
    values = {"header": HEADER, "pose": {"pose": pose(1, 2, 3), "covariance": COVARIANCE}}
    seen = the_one(maker, "geometry_msgs/msg/PoseWithCovarianceStamped", values)
    assert seen.covariance == ((0.25, 0.01, 0.0), (0.01, 0.24, 0.0), (0.0, 0.0, 0.0))


def test_a_wrench_is_felt(maker: Maker) -> None:
    values = {"header": HEADER, "wrench": {"force": VECTOR, "torque": VECTOR}}
    seen = the_one(maker, "geometry_msgs/msg/WrenchStamped", values)
    assert seen.new.perception_type == "tactile"
    assert seen.new.content == "force (1.00, 2.00, 3.00) N, torque (1.00, 2.00, 3.00) Nm at map"
    assert context_of(seen) == {"params": {"force": [1.0, 2.0, 3.0], "torque": [1.0, 2.0, 3.0]}}


def test_a_wrench_can_be_placed_where_its_frame_is(maker: Maker) -> None:
    assert place_of(the_one(maker, "geometry_msgs/msg/WrenchStamped", {"header": HEADER}, at_frame=True)) == (
        0.0,
        0.0,
        0.0,
    )


def test_odometry_has_place_and_speed(maker: Maker) -> None:
    values = {"header": HEADER, "pose": {"pose": pose(1, 2, 3)}, "twist": {"twist": {"linear": {"x": 0.5}}}}
    seen = the_one(maker, "nav_msgs/msg/Odometry", values)
    assert seen.new.content == "odometry (1.00, 2.00) in map, moving at 0.50 m/s, turning at 0.00 rad/s"
    assert context_of(seen)["robot"] == {"linear_velocity": [0.5, 0.0, 0.0], "angular_velocity": [0.0, 0.0, 0.0]}


def test_joints_are_listed_with_their_positions(maker: Maker) -> None:
    values = {"header": HEADER, "name": ["left", "right"], "position": [0.5, -1.0], "velocity": [math.nan, 0.0]}
    seen = the_one(maker, "sensor_msgs/msg/JointState", values)
    assert seen.new.content == "joints left, right at 0.500, -1.000"
    assert context_of(seen)["robot"] == {
        "joints": ["left", "right"], "positions": [0.5, -1.0], "velocities": [None, 0.0], "efforts": [],
    }  # fmt: skip


def test_a_range_without_an_echo_is_said_as_such(maker: Maker) -> None:
    seen = the_one(maker, "sensor_msgs/msg/Range", {"header": HEADER, "range": math.inf, "max_range": 4.0})
    assert seen.new.content == "range inf m at map"
    assert context_of(seen) == {"params": {"range": None, "min_range": 0.0, "max_range": 4.0}}


def test_a_battery_says_its_charge_and_what_it_does_not_know(maker: Maker) -> None:
    values = {"header": HEADER, "location": "dock", "percentage": 0.5, "voltage": 12.0, "current": math.nan}
    seen = the_one(maker, "sensor_msgs/msg/BatteryState", values)
    assert seen.new.content == "battery dock at 50%, 12.0 V, unknown A"
    assert context_of(seen)["robot"] == {
        "battery": {"percentage": 0.5, "voltage": 12.0, "current": None, "power_supply_status": 0}
    }


def test_diagnostics_say_what_they_compare(maker: Maker) -> None:
    status = {"level": 2, "name": "motor", "message": "hot", "hardware_id": "m1",
              "values": [{"key": "celsius", "value": "80"}]}  # fmt: skip
    seen = the_one(maker, "diagnostic_msgs/msg/DiagnosticArray", {"header": HEADER, "status": [status]})
    assert (seen.new.content, seen.new.identity, seen.state) == ("motor: hot", "m1/motor", "2 hot")
    assert context_of(seen) == {
        "params": {"level": 2, "hardware_id": "m1", "values": [{"key": "celsius", "value": "80"}]}
    }  # fmt: skip


def test_a_string_has_the_time_of_its_receipt(maker: Maker) -> None:
    seen = the_one(maker, "std_msgs/msg/String", {"data": " 桌上有一只红杯子 "})
    assert (seen.new.content, seen.new.observed_at) == ("桌上有一只红杯子", RECEIPT)


def test_what_somebody_said_has_its_speaker_as_source(maker: Maker) -> None:
    caption = {"speaker_id": "operator", "text": "the lift is out of order", "locale": "en_GB"}
    seen = the_one(maker, "hri_actions_msgs/msg/ClosedCaption", caption)
    assert (seen.new.content, seen.new.source) == ("operator: the lift is out of order", "operator")
    assert (seen.new.perception_type, context_of(seen)["language"]) == ("auditory", "en_GB")
    speech = {"header": HEADER, "final": "the lift works again", "confidence": 0.7}
    seen = the_one(maker, "hri_msgs/msg/LiveSpeech", speech, context={"source": "'operator'"})
    assert (seen.new.content, seen.new.source) == ("the lift works again", "operator")
    assert context_of(seen)["params"] == {"confidence": 0.7}
    unfinished = extract(maker, "hri_msgs/msg/LiveSpeech", {"incremental": "the lift"})
    assert unfinished.drops == {DropReason.NO_DESCRIPTION: 1}


def test_a_perception_comes_as_it_is(maker: Maker) -> None:
    values = {
        "header": HEADER, "description": "a mug", "perception_type": "tactile", "pose": [pose(1, 2, 3)], "label": "mug",
        "confidence": 0.3, "context": '{"task": {"success": true}}', "data": b"\x00\xff", "data_format": "raw",
        "session_id": "s", "collection": "c",
    }  # fmt: skip
    assert the_one(maker, "robotmem_ros/msg/Perception", values).new == NewMemory(
        Kind.PERCEPTION, "a mug", "c", STAMP_NS, "map", "", session_id="s", context='{"task":{"success":true}}',
        pose=Pose(1.0, 2.0, 3.0), perception_type="tactile", perception_data=b"\x00\xff",
        perception_metadata='{"format":"raw"}', label="mug", confidence=0.3, source="topic", stream="/seen",
    )  # fmt: skip


def test_a_custom_file_changes_and_adds_presets(tmp_path: Path, maker: Maker) -> None:
    own = tmp_path / "presets.yaml"
    own.write_text(
        "std_msgs/msg/String: {description: 'heard {data}', perception_type: auditory}\n"
        "geometry_msgs/PointStamped:\n  description: a point\n  position: point\n  context: {robot: {place: point}}\n"
        "nav_msgs/msg/Odometry: {min_interval: 5.0}\n"
    )
    presets = load_presets(own)
    string = parse_topic("words", {"topic": "/words", "type": "std_msgs/String"}, presets)
    assert (string.description, string.perception_type) == ("heard {data}", "auditory")
    assert parse_topic("p", {"topic": "/p", "type": "geometry_msgs/msg/PointStamped"}, presets).position == "point"
    odometry = parse_topic("odom", {"topic": "/odom", "type": "nav_msgs/msg/Odometry"}, presets)
    assert (odometry.min_interval, odometry.pose) == (5.0, ("pose.pose",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("std_msgs/msg/String: {descriptoin: x}", r"presets_file .*own.yaml: std_msgs.*.descriptoin: 'x' is no key"),
        ("std_msgs/msg/String: {gate: 1}", r"std_msgs/msg/String.gate: 1 must be of type bool"),
        ("std_msgs/msg/String: {topic: /x}", r"std_msgs/msg/String.topic: '/x' belongs to a topic"),
        ("std_msgs/msg/String: 5", "must be a mapping"),
        ("String: {description: x}", "'String' is no message type"),
        ("- a", "must hold names with their values"),
        ("a: [", "cannot be read"),
        ("a: \udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "cannot be read|is no message type"),
    ],
)  # fmt: skip
def test_a_preset_that_cannot_be_used_names_file_type_and_key(tmp_path: Path, text: str, said: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidFieldError, match=said):
        load_presets(own)


def test_a_presets_file_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidFieldError, match=r"presets_file: '/nowhere/presets.yaml' cannot be read"):
        load_presets("/nowhere/presets.yaml")
