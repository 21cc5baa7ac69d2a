"""From messages to memory: the same path for live topics and recordings, and every message accounted for."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from robotmem_ros.frames import Transform
from robotmem_ros.memory import RobotMemory
from robotmem_ros.perception import DropReason, Intake, TopicCounts

from ..support.perception.intakes import (
    DETECTIONS,
    POSE,
    QUARTER,
    SECOND,
    STRING,
    header,
    settled,
    stamped,
    stored,
    transforms,
)
from ..support.perception.messages import HEADER, STAMP_NS, RosbagsMaker, detection, pose


def test_a_pose_is_stored_in_the_memory_frame_at_its_own_stamp(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE)
    assert intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True) == ()
    intake.receive("seen", stamped(rosbags, "camera"), 7 * STAMP_NS)
    (one,) = stored(memory)
    assert one.pose is not None
    assert one.pose == pytest.approx((8.0, 1.0, 3.0, 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    assert (one.frame_id, one.observed_at) == ("map", STAMP_NS)
    assert "source_frame_id" not in one.context_json
    assert settled(memory, intake) == TopicCounts(messages=1, observations=1, stored_count=1)


def test_a_message_waits_for_a_late_transform_and_uses_the_one_at_its_stamp(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE)
    intake.receive_tf(transforms(rosbags, "map", "odom", STAMP_NS - SECOND, Transform(0.0)), static=False)
    intake.receive("seen", stamped(rosbags, "odom"), STAMP_NS)
    intake.collect()
    assert (stored(memory), settled(memory, intake).waiting_count, intake.waiting_for_transforms) == ([], 1, 1)
    intake.receive_tf(transforms(rosbags, "map", "odom", STAMP_NS + SECOND, Transform(4.0)), static=False)
    (one,) = stored(memory)
    assert one.pose is not None
    assert one.pose[:3] == pytest.approx((3.0, 2.0, 3.0))
    assert intake.waiting_for_transforms == 0


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ([], DropReason.UNKNOWN_FRAME),
        ([("map", "odom"), ("world", "camera")], DropReason.NOT_CONNECTED),
        ([("map", "odom"), ("odom", "camera")], DropReason.NO_TRANSFORM),
        ([("a", "camera"), ("camera", "a"), ("x", "map")], DropReason.FRAME_LOOP),
    ],
)
def test_a_message_without_a_transform_is_dropped_and_counted(
    make: Callable[..., Intake],
    memory: RobotMemory,
    rosbags: RosbagsMaker,
    known: list[tuple[str, str]],
    reason: DropReason,
) -> None:
    intake = make(POSE)
    moving = reason is DropReason.NO_TRANSFORM
    for parent, child in known:
        intake.receive_tf(transforms(rosbags, parent, child, STAMP_NS - SECOND, Transform()), static=not moving)
    intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    intake.finish()
    counts = settled(memory, intake)
    assert counts.drops == {reason: 1}
    assert counts.last_drop.startswith("/seen: ")
    assert stored(memory) == []


@pytest.mark.parametrize("memory", [{"on_missing_transform": "keep"}], indirect=True)
def test_a_message_without_a_transform_is_kept_in_its_frame_if_configured(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE)
    intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    intake.finish()
    (one,) = stored(memory)
    assert (one.frame_id, one.context) == ("camera", {"spatial": {"source_frame_id": "camera"}})
    assert one.pose is not None
    assert one.pose[:3] == (1, 2, 3)


def test_a_message_is_dropped_when_the_transform_timeout_ends(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, transform_timeout=0.0)
    intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    intake.collect()
    assert settled(memory, intake).drops == {DropReason.UNKNOWN_FRAME: 1}


@pytest.mark.parametrize("memory", [{"queue_limit": 2}], indirect=True)
def test_a_full_transform_queue_drops_the_oldest_message(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE)
    for _ in range(5):
        intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    assert settled(memory, intake).drops == {DropReason.TF_QUEUE_FULL: 3}
    intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True)
    assert settled(memory, intake).stored_count == 2


def test_detections_of_several_frames_are_stored_together(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(DETECTIONS)
    intake.receive_tf(transforms(rosbags, "map", "left", 0, QUARTER), static=True)
    found = [
        detection("mug", 0.9, header=header("right")),
        detection("cup", 0.8, header=header("left")),
        detection("pen", 0.7, header=header("map")),
    ]
    intake.receive("seen", rosbags.make(DETECTIONS, {"header": HEADER, "detections": found}), STAMP_NS)
    assert settled(memory, intake).waiting_count == 3
    intake.receive_tf(transforms(rosbags, "map", "right", 0, Transform(z=5.0)), static=True)
    assert {(one.label, round(one.pose.x), one.frame_id) for one in stored(memory) if one.pose} == {
        ("mug", 1, "map"),
        ("cup", 8, "map"),
        ("pen", 1, "map"),
    }


def test_what_lies_without_a_frame_or_nowhere_needs_no_transform(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    make(STRING).receive("seen", rosbags.make(STRING, {"data": "a mug"}), STAMP_NS)
    make(POSE, keys={"require_frame": False}).receive("seen", stamped(rosbags, ""), STAMP_NS)
    make("sensor_msgs/msg/Range").receive(
        "seen", rosbags.make("sensor_msgs/msg/Range", {"header": header("sonar"), "range": 1.0}), STAMP_NS
    )
    assert [one.frame_id for one in stored(memory)] == ["map", "map", "sonar"]


def test_positions_of_the_context_move_with_the_pose(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make("robotmem_ros/msg/Perception")
    intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True)
    context = '{"spatial": {"frame_id": "camera", "object_position": [1, 2, 3], "door": {"at": [1, 2]}, "n": 4}}'
    values = {"header": header("camera"), "description": "a mug", "context": context, "pose": [pose(0, 0, 0)]}
    intake.receive("seen", rosbags.make("robotmem_ros/msg/Perception", values), STAMP_NS)
    (one,) = stored(memory)
    spatial = one.context["spatial"]
    assert spatial["object_position"] == pytest.approx([8, 1, 3])
    assert spatial["door"]["at"] == pytest.approx([8, 1])
    assert (spatial["n"], spatial["frame_id"]) == (4, "map")


def test_what_moves_with_its_frame_has_moved(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, keys={"min_displacement": 0.5})
    for second in range(5):
        moved = Transform(x=second * 0.3)
        intake.receive_tf(transforms(rosbags, "map", "base", STAMP_NS + second * SECOND, moved), static=False)
        intake.receive("seen", stamped(rosbags, "base", STAMP_NS + second * SECOND), STAMP_NS)
    counts = settled(memory, intake)
    assert [one.pose.x for one in stored(memory) if one.pose] == pytest.approx([1.0, 1.6, 2.2])
    assert (counts.stored_count, counts.drops) == (3, {DropReason.MIN_DISPLACEMENT: 2})


@pytest.mark.parametrize(("receipt", "reason"), [(STAMP_NS - 11 * SECOND, DropReason.FUTURE_STAMP), (0, None)])
def test_a_stamp_far_ahead_of_the_clock_is_dropped(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker, receipt: int, reason: DropReason | None
) -> None:
    intake = make(POSE)
    intake.receive("seen", stamped(rosbags, "map"), receipt)
    assert settled(memory, intake).drops == ({reason: 1} if reason else {})


def test_a_zero_stamp_becomes_the_time_of_receipt(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    make(POSE).receive("seen", stamped(rosbags, "map", 0), 5 * SECOND)
    assert [one.observed_at for one in stored(memory)] == [5 * SECOND]


def test_a_message_within_the_minimum_interval_is_not_read(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, keys={"min_interval": 1.0})
    for tenth in range(25):
        stamp_ns = STAMP_NS + tenth * SECOND // 10
        values = {"header": header("map", stamp_ns), "pose": pose(1, 2, 3)}
        if not intake.too_soon("seen", rosbags.raw(POSE, values), stamp_ns):
            intake.receive("seen", rosbags.make(POSE, values), stamp_ns)
    counts = settled(memory, intake)
    assert (counts.messages, counts.stored_count, counts.drops) == (25, 3, {DropReason.MIN_INTERVAL: 22})


def test_a_stamp_far_ahead_does_not_stop_the_sampling_of_others(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, keys={"min_interval": 1.0})
    for ahead in (0, 100, 0):
        values = {"header": header("map", STAMP_NS + ahead * SECOND), "pose": pose(1, 2, 3)}
        if not intake.too_soon("seen", rosbags.raw(POSE, values), STAMP_NS):
            intake.receive("seen", rosbags.make(POSE, values), STAMP_NS)
    assert settled(memory, intake).drops == {DropReason.FUTURE_STAMP: 1, DropReason.MIN_INTERVAL: 1}


@pytest.mark.parametrize("memory", [{"localisation_topic": "/amcl_pose"}], indirect=True)
def test_the_gate_drops_messages_while_the_robot_is_not_localised(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE)
    intake.receive("seen", stamped(rosbags, "map"), STAMP_NS)
    intake.receive_localisation([0.0] * 36)
    intake.receive("seen", stamped(rosbags, "map"), STAMP_NS)
    counts = settled(memory, intake)
    assert (counts.stored_count, counts.drops) == (1, {DropReason.NOT_LOCALISED: 1})


def test_after_a_jump_back_transforms_and_sampling_start_over(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, keys={"min_interval": 10.0})
    for run in range(2):
        for ahead in (-1, 1):
            message = transforms(rosbags, "map", "odom", STAMP_NS + ahead * SECOND, Transform(float(run)))
            intake.receive_tf(message, static=False)
        intake.receive("seen", stamped(rosbags, "odom"), STAMP_NS)
        intake.clear()
    assert [one.pose.x for one in stored(memory) if one.pose] == [1.0, 2.0]


def test_what_the_memory_cannot_store_is_counted(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make("robotmem_ros/msg/Perception")
    values = {"header": HEADER, "description": "a mug", "data": bytes(memory.parameters.data_limit + 1)}
    intake.receive("seen", rosbags.make("robotmem_ros/msg/Perception", values), STAMP_NS)
    memory.close()
    intake.receive("seen", rosbags.make("robotmem_ros/msg/Perception", {**values, "data": b""}), STAMP_NS)
    assert intake.counts()["seen"].drops == {DropReason.INVALID: 1, DropReason.NOT_WRITTEN: 1}
