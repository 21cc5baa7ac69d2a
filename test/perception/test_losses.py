"""What is lost on its way into the memory is not taken for stored when the same comes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.perception import DropReason, Intake

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
from ..support.perception.messages import HEADER, STAMP_NS, RosbagsMaker, pose

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
    assert (counts.stored, counts.dropped) == (1, {DropReason.UNKNOWN_FRAME: 1, DropReason.UNCHANGED: 2})


def test_of_equal_states_that_wait_for_a_transform_one_is_stored(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(POSE, keys=NOTHING_BUT_CHANGES)
    for second in range(3):
        intake.receive("seen", stamped(rosbags, "camera", STAMP_NS + second * SECOND), STAMP_NS)
    assert settled(memory, intake).waiting == 3
    intake.receive_tf(transforms(rosbags, "map", "camera", 0, QUARTER), static=True)
    counts = settled(memory, intake)
    assert (counts.stored, counts.dropped) == (1, {DropReason.UNCHANGED: 2})
    assert [one.observed_at for one in stored(memory)] == [STAMP_NS]


@pytest.mark.parametrize("keys", [{"changes_only": "data"}, {"min_interval": 10.0}])
def test_what_the_memory_refuses_to_write_is_stored_when_it_comes_again(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker, keys: dict[str, Any]
) -> None:
    intake = make(STRING, keys=keys)
    message = rosbags.make(STRING, {"data": "a mug"})
    memory._database.write(lambda connection: connection.execute(REFUSING))
    memory.flush()
    intake.receive("seen", message, STAMP_NS)
    assert settled(memory, intake).dropped == {DropReason.NOT_WRITTEN: 1}
    memory._database.write(lambda connection: connection.execute("DROP TRIGGER refusing"))
    memory.flush()
    intake.receive("seen", message, STAMP_NS)
    assert settled(memory, intake).stored == 1


@pytest.mark.parametrize("keys", [{"changes_only": "label"}, {"min_interval": 10.0}, {"min_displacement": 5.0}])
def test_what_was_too_large_is_not_remembered_as_stored(
    make: Callable[..., Intake], memory: RobotMemory, rosbags: RosbagsMaker, keys: dict[str, Any]
) -> None:
    kind = "robotmem_ros/msg/Perception"
    intake = make(kind, keys=keys)
    values = {"header": HEADER, "description": "a mug", "label": "mug", "pose": [pose(1, 2, 3)]}
    too_large = {**values, "data": bytes(memory.parameters.data_limit + 1)}
    for one in (too_large, values, values):
        intake.receive("seen", rosbags.make(kind, one), STAMP_NS)
    counts = settled(memory, intake)
    assert (counts.stored, counts.dropped[DropReason.INVALID]) == (1, 1)


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
