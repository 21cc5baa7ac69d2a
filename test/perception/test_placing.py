"""Single perceptions: into the memory frame at their stamp, or kept as they are with the reason."""

from __future__ import annotations

import json
import math

import pytest

from robotmem_ros.frames import Transform, TransformBuffer
from robotmem_ros.memory import Pose
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.perception import Intake, MessageClasses
from robotmem_ros.replay import DryRun

from ..support.perception.intakes import QUARTER, SECOND

STAMP = 100 * SECOND


def seen(frame: str = "camera", **fields: object) -> NewMemory:
    values = {"label": "mug", "pose": (1.0, 2.0, 3.0), "observed_at": STAMP, **fields}
    perception = NewPerception("a mug", frame_id=frame, **values)  # type: ignore[arg-type]
    return new_perception(Parameters(), perception, now=lambda: STAMP)


def placing(buffer: TransformBuffer | None = None, **parameters: object) -> Intake:
    memory = DryRun(Parameters().changed(**parameters))
    return Intake(memory, [], MessageClasses(), buffer=buffer or TransformBuffer(), transform_timeout=60.0)


def test_a_perception_is_moved_by_the_transform_at_its_stamp() -> None:
    buffer = TransformBuffer()
    for second, x in ((-1, 0.0), (1, 4.0)):
        buffer.add("map", "camera", STAMP + second * SECOND, Transform(x), static=False)
    new, reason = placing(buffer).place(seen()).result(0)
    assert (new.pose, new.frame_id, reason) == (Pose(3.0, 2.0, 3.0), "map", "")


def test_positions_of_the_context_are_moved_with_it() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "camera", 0, QUARTER, static=True)
    new, _ = placing(buffer).place(seen(pose=None, context={"spatial": {"door": [1.0, 0.0]}})).result(0)
    assert (new.pose, new.frame_id) == (None, "map")
    assert json.loads(new.context)["spatial"]["door"] == pytest.approx([10.0, 1.0])


@pytest.mark.parametrize("new", [seen("map"), seen("microphone", pose=None)])
def test_what_needs_no_transform_is_ready_at_once_and_stays_as_it_is(new: NewMemory) -> None:
    assert placing().place(new).result(0) == (new, "")


def test_a_perception_waits_for_a_late_transform() -> None:
    buffer = TransformBuffer()
    frames = placing(buffer)
    placed = frames.place(seen())
    frames.collect()
    assert (placed.done(), frames.waiting_for_transforms) == (False, 1)
    buffer.add("map", "camera", 0, Transform(5.0), static=True)
    frames.collect()
    assert (placed.result(0).new.pose, frames.waiting_for_transforms) == (Pose(6.0, 2.0, 3.0), 0)


def test_a_perception_without_a_transform_is_kept_and_the_reason_says_why() -> None:
    frames, new = placing(), seen()
    placed = frames.place(new)
    frames.finish()
    stays, reason = placed.result(0)
    assert stays == new
    assert reason == (
        "kept in frame 'camera', and so no object: frame 'map': no transform has named it; none has come yet"
    )


def test_a_perception_waits_no_longer_than_transform_timeout() -> None:
    now = [0.0]
    memory, buffer, clocks = DryRun(Parameters()), TransformBuffer(), [lambda: now[0]]
    frames = Intake(memory, [], MessageClasses(), buffer=buffer, transform_timeout=2.0, clocks=clocks)
    placed = frames.place(seen())
    now[0] = 1.9
    frames.collect()
    assert not placed.done()
    now[0] = 2.0
    frames.collect()
    assert placed.done()


def test_the_oldest_does_not_wait_if_more_wait_than_may() -> None:
    frames = placing(queue_limit=1)
    first, second = frames.place(seen()), frames.place(seen())
    assert "more wait for transforms than queue_limit" in first.result(0).reason
    assert not second.done()


def test_a_transform_that_throws_a_position_too_far_out_is_an_error() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "camera", 0, Transform(1e9), static=True)
    with pytest.raises(InvalidFieldError, match="pose"):
        placing(buffer).place(seen()).result(0)


def test_the_quaternion_is_turned_too() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "camera", 0, QUARTER, static=True)
    new, _ = placing(buffer).place(seen()).result(0)
    assert new.pose == pytest.approx((8.0, 1.0, 3.0, 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
