"""A perception with a label and a position is a sighting, by a call or a topic; nothing else is."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.models import ImportKey, NewPerception, Recording
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.objects.existence import after_detection, after_first

from ...support.clock import DAY, NOW, SECOND, Clock
from ...support.sightings import objects, place, see, the
from ..conftest import OpenMemory

MUG: dict[str, Any] = {"description": "a red mug on the table", "label": "mug", "pose": [3.0, 1.0, 0.0]}


def test_the_same_thing_saved_four_times_is_one_object_seen_four_times(memory: RobotMemory) -> None:
    saved = [memory.save_perception(**MUG) for _ in range(4)]
    assert [(one.memory_id, one.is_new, one.times_seen) for one in saved] == [(1, n == 1, n) for n in (1, 2, 3, 4)]
    (mug,) = memory.recall("red mug")
    assert (mug.memory.times_seen, mug.memory.confirmed, mug.memory.content) == (4, True, "a red mug on the table")
    assert mug.memory.observed_at == mug.memory.last_seen
    history = memory.object_history(1)
    assert history[-1].observed_at == mug.memory.first_seen
    assert memory.status().perceptions == 1


def test_calls_and_topics_give_sightings_of_the_same_object(memory: RobotMemory) -> None:
    memory.save_perception(**MUG)
    new = new_perception(memory.parameters, NewPerception(**MUG), now=time.time_ns)
    assert [memory.store(new).result().memory_id, *see(memory, new)] == [1, 1]
    assert the(memory, 1).times_seen == 3


def test_a_sighting_at_another_position_is_another_object(memory: RobotMemory) -> None:
    for x in (0.0, 5.0, 0.1):
        memory.save_perception(**{**MUG, "pose": [x, 0.0, 0.0]})
    assert [(round(place(one)[0], 2), one.times_seen) for one in objects(memory)] == [(0.05, 2), (5.0, 1)]


@pytest.mark.parametrize(
    "changes",
    [
        {"as_object": False},
        {"label": None},
        {"pose": None},
        {"frame_id": "camera"},
        {"context": {"spatial": {"frame_id": "camera"}}},
        {"perception_type": "procedural"},
        {"perception_type": "proprioceptive"},
    ],
)
def test_a_perception_that_is_no_sighting_is_stored_each_time(memory: RobotMemory, changes: dict[str, Any]) -> None:
    saved = [memory.save_perception(**{**MUG, **changes}) for _ in range(2)]
    new = new_perception(memory.parameters, NewPerception(**{**MUG, **changes}), now=time.time_ns)
    assert [one.times_seen for one in saved] == [0, 0]
    assert [one.memory_id for one in saved] + see(memory, new) == [1, 2, 3]
    assert objects(memory) == []
    with pytest.raises(MemoryNotFoundError, match="there is no such object"):
        memory.object_history(1)


@pytest.mark.parametrize("as_object", [None, 0, "false"])
def test_as_object_must_be_true_or_false(memory: RobotMemory, as_object: Any) -> None:
    with pytest.raises(InvalidFieldError, match=r"as_object: .* must be true or false"):
        memory.save_perception(**MUG, as_object=as_object)


def test_the_latest_context_and_session_are_those_of_an_object_that_is_saved_again(memory: RobotMemory) -> None:
    memory.save_perception(**MUG, context={"state": "clean"}, session_id="first", data=b"image")
    memory.save_perception(**MUG, context={"state": "dirty"}, session_id="second")
    assert (the(memory, 1).context, the(memory, 1).session_id) == ({"state": "dirty"}, "second")
    assert [one.id for one in memory.recall(context_filter={"state": "dirty"})] == [1]
    assert len(memory.recall(context_filter={"state": "clean"})) == 0


def test_a_past_sighting_of_a_call_has_decayed_and_one_of_a_topic_has_not(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory(clock=Clock())
    old = {**MUG, "observed_at": NOW - 100 * DAY}
    memory.save_perception(**old)
    streamed = new_perception(memory.parameters, NewPerception(**{**old, "label": "cup"}), now=Clock())
    see(memory, streamed)
    see(memory, replace(streamed, observed_at=streamed.observed_at + SECOND))
    second = after_detection(after_first(0.9, false_alarms=0.1), 1, 0, 0.9, false_alarms=0.1, fresh=0.1)
    assert [the(memory, number).confidence for number in (1, 2)] == pytest.approx([0.9 * 0.99, second])


def test_a_sighting_of_a_recording_is_stored_once(memory: RobotMemory) -> None:
    number = memory.imports.begin(Recording("digest", "/detections", "configuration", "path"))
    key = ImportKey(number, NOW, 0, 0)
    new = new_perception(memory.parameters, NewPerception(**MUG, observed_at=NOW - SECOND), now=time.time_ns)
    new = replace(new, import_key=key)
    assert [memory.store(new).result().is_new for _ in range(2)] == [True, False]
    assert the(memory, 1).times_seen == 1
