"""What the intake does when there is too much, and which topics it cannot take."""

from __future__ import annotations

import threading

import pytest

from robotmem_ros.frames import TransformBuffer
from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.perception import DropReason, Intake, parse_topic

from ..support.perception.messages import PRESETS, STAMP_NS, RosbagsMaker

STRING = "std_msgs/msg/String"


@pytest.mark.parametrize("policy", ["drop_newest", "block"])
def test_a_full_queue_pushes_back_as_configured(rosbags: RosbagsMaker, policy: str) -> None:
    with RobotMemory(":memory:", embedding_model="", queue_limit=5, queue_policy=policy) as memory:
        config = parse_topic("seen", {"topic": "/seen", "type": STRING}, PRESETS)
        intake = Intake(memory, [config], rosbags.types, buffer=TransformBuffer(), transform_timeout=1.0)
        held, let_go = threading.Event(), threading.Event()

        def hold(connection: object) -> None:
            held.set()
            assert let_go.wait(60)

        memory._database.write(hold)
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
        assert (counts.stored, counts.dropped) == expected


def test_two_topics_cannot_have_one_name(rosbags: RosbagsMaker) -> None:
    config = parse_topic("seen", {"topic": "/seen", "type": STRING}, PRESETS)
    with (
        RobotMemory(":memory:", embedding_model="") as memory,
        pytest.raises(InvalidFieldError, match="perception_topics: 'seen' is named twice"),
    ):
        Intake(memory, [config, config], rosbags.types, buffer=TransformBuffer(), transform_timeout=1.0)
