"""Full queues, failed writes and missing transforms: what is dropped is counted, and leaves no trace in sampling."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from robotmem_ros.frames import Transform, TransformBuffer
from robotmem_ros.memory import RobotMemory
from robotmem_ros.perception import DropReason, Intake, parse_topic

from ..support.perception.intakes import (
    POSE,
    QUARTER,
    SECOND,
    STRING,
    settled,
    stamped,
    stored,
    transforms,
)
from ..support.perception.messages import HEADER, PRESETS, STAMP_NS, RosbagsMaker, pose


@pytest.mark.parametrize("policy", ["drop_newest", "block"])
def test_a_full_queue_pushes_back_as_configured(rosbags: RosbagsMaker, policy: str) -> None:
    with RobotMemory(":memory:", embedding_model="", queue_limit=5, queue_policy=policy) as memory:
        config = parse_topic("seen", {"topic": "/seen", "type": STRING}, PRESETS)
        intake = Intake(memory, [config], rosbags.types, buffer=TransformBuffer(), transform_timeout=1.0)
        held, let_go = threading.Event(), threading.Event()

        def hold(connection: object) -> None:
            held.set()
            assert let_go.wait(60)

        memory.parts.database.write(hold)
        assert held.wait(60)
        message = rosbags.make(STRING, {"data": "a mug"})

        def send() -> None:
            for _ in range(20):
                intake.receive("seen", message, STAMP_NS)

        sender = threading.Thread(target=send)
        sender.start()
        if policy == "drop_newest":
            sender.join(60)
        let_go.set()
        sender.join(60)
        memory.flush()
        counts = intake.counts()["seen"]
        expected = (5, {DropReason.QUEUE_FULL: 15}) if policy == "drop_newest" else (20, {})
        assert (counts.stored_count, counts.drops) == expected


NOTHING_BUT_CHANGES = {"label": "'door'", "changes_only": "pose.position.z"}
REFUSING = "CREATE TRIGGER refusing BEFORE INSERT ON memories BEGIN SELECT RAISE(ABORT, 'refused'); END"


def test_a_state_that_was_lost_for_want_of_a_transform_is_stored_when_it_comes_again(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, transform_timeout=0.0, keys=NOTHING_BUT_CHANGES)
    intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    intake.collect()
    intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True)
    for second in range(1, 4):
        intake.receive("seen", stamped(rosbags, "camera", STAMP_NS + second * SECOND), STAMP_NS)
    counts = settled(memory, intake)
    assert (counts.stored_count, counts.drops) == (1, {DropReason.UNKNOWN_FRAME: 1, DropReason.UNCHANGED: 2})


def test_of_equal_states_that_wait_for_a_transform_one_is_stored(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, keys=NOTHING_BUT_CHANGES)
    for second in range(3):
        intake.receive("seen", stamped(rosbags, "camera", STAMP_NS + second * SECOND), STAMP_NS)
    assert settled(memory, intake).waiting_count == 3
    intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True)
    counts = settled(memory, intake)
    assert (counts.stored_count, counts.drops) == (1, {DropReason.UNCHANGED: 2})
    assert [one.observed_at for one in stored(memory)] == [STAMP_NS]


@pytest.mark.parametrize("keys", [{"changes_only": "data"}, {"min_interval": 10.0}])
def test_what_the_memory_refuses_to_write_is_stored_when_it_comes_again(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker, keys: dict[str, Any]
) -> None:
    intake = make(STRING, keys=keys)
    message = rosbags.make(STRING, {"data": "a mug"})
    memory.parts.database.write(lambda connection: connection.execute(REFUSING))
    memory.flush()
    intake.receive("seen", message, STAMP_NS)
    assert settled(memory, intake).drops == {DropReason.NOT_WRITTEN: 1}
    memory.parts.database.write(lambda connection: connection.execute("DROP TRIGGER refusing"))
    memory.flush()
    intake.receive("seen", message, STAMP_NS)
    assert settled(memory, intake).stored_count == 1


@pytest.mark.parametrize("keys", [{"changes_only": "label"}, {"min_interval": 10.0}, {"min_displacement": 5.0}])
def test_an_observation_that_was_too_large_is_not_remembered_as_stored(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker, keys: dict[str, Any]
) -> None:
    kind = "robotmem_ros/msg/Perception"
    intake = make(kind, keys=keys)
    values = {"header": HEADER, "description": "a mug", "label": "mug", "pose": [pose(1, 2, 3)]}
    too_large = {**values, "data": bytes(memory.parameters.data_limit + 1)}
    for one in (too_large, values, values):
        intake.receive("seen", rosbags.make(kind, one), STAMP_NS)
    counts = settled(memory, intake)
    assert (counts.stored_count, counts.drops[DropReason.INVALID]) == (1, 1)


def test_an_interval_begins_with_a_message_that_has_its_transform(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, transform_timeout=0.0, keys={"min_interval": 10.0})
    intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    intake.collect()
    intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True)
    for second in (1, 2):
        intake.receive("seen", stamped(rosbags, "camera", STAMP_NS + second * SECOND), STAMP_NS)
    assert [one.observed_at for one in stored(memory)] == [STAMP_NS + SECOND]


def test_a_position_that_a_broken_transform_threw_far_out_is_dropped_with_its_reason(
    memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    buffer = TransformBuffer()
    buffer.add("map", "camera", 0, Transform(1e20), static=True)
    config = parse_topic("seen", {"topic": "/seen", "type": POSE, "label": "'door'"}, PRESETS)
    intake = Intake(memory, [config], rosbags.types, buffer=buffer, transform_timeout=1.0)
    intake.receive("seen", stamped(rosbags, "camera"), STAMP_NS)
    memory.flush()
    counts = intake.counts()["seen"]
    assert counts.drops == {DropReason.BAD_POSE: 1}
    assert "must lie within 100,000,000 m" in counts.last_drop
