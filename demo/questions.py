"""Questions of the demo's planner, and the comparison of an answer with the truth of the recording."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PointStamped
from std_msgs.msg import Header

from demo.record_patrol import Truth
from robotmem_ros.msg import Memory, SpatialSort
from robotmem_ros.srv import Recall

Memories = Sequence[Memory]
_FIVE_MINUTES = 300 * 10**9
_NOISE = 0.5
"""Largest distance of a sighting from the thing itself, in metres: more than the noise of the recording."""


@dataclass(frozen=True)
class Question:
    """A question in words and as a request, the answer in words, the truth, and the check of the answer."""

    words: str
    request: Recall.Request
    reading: Callable[[Memories], str]
    truth: str
    is_true: Callable[[Memories], bool]
    error: str = ""
    """Part of the error, if the request must be refused."""
    reason: str = ""
    """Part of the reason, if the answer must have one."""

    def answer(self, response: Recall.Response) -> str:
        """Describe the answer in words."""
        if not response.success:
            return f"error: {response.error}"
        return self.reading(response.memories) if response.memories else "nothing"

    def holds(self, response: Recall.Response) -> bool:
        """Tell whether the answer is true."""
        if self.error:
            return not response.success and self.error in response.error
        return bool(
            response.success
            and response.memories
            and self.reason in response.reason
            and self.is_true(response.memories)
        )


def questions(truth: Truth) -> list[Question]:
    """Return all questions of the demo; the planner stands where the patrol ended."""
    return [
        nearest_red_mug(truth),
        _grip_force(truth),
        _seen_in_the_kitchen(truth),
        in_chinese(truth),
        _wrongly_asked(),
    ]


def nearest_red_mug(truth: Truth) -> Question:
    """Return a question about places."""
    thing, distance = truth.nearest("mug", "red")
    x, y, z = truth.robot
    target = PointStamped(header=Header(frame_id="map"), point=Point(x=x, y=y, z=z))
    return Question(
        words="Where is the red mug nearest to me?",
        request=Recall.Request(
            query="the red mug nearest to the robot",
            n=1,
            spatial_sort=[SpatialSort(field="spatial.object_position", target=target)],
        ),
        reading=lambda memories: f"{memories[0].content}, at {_place(memories[0])}",
        truth=f"{thing.description}, {distance:.2f} m",
        is_true=lambda memories: (
            memories[0].content == thing.description and abs(memories[0].distance - distance) < _NOISE
        ),
    )


def _grip_force(truth: Truth) -> Question:
    forces = truth.forces_that_worked("glass", below=15.0)
    condition = {"task.success": True, "params.force.value": {"$lt": 15.0}}
    return Question(
        words="What grip force below 15 N worked for a glass?",
        request=Recall.Request(
            query="what grip force worked for a glass", n=len(forces), context_filter=json.dumps(condition)
        ),
        reading=lambda memories: f"{_newtons(_forces(memories))}; first: {memories[0].content}",
        truth=f"a glass held with {_newtons(sorted(forces))}",
        is_true=lambda memories: set(_forces(memories)) == forces and {m.label for m in memories} == {"glass"},
    )


def _seen_in_the_kitchen(truth: Truth) -> Question:
    after = truth.end - _FIVE_MINUTES
    truth_events = truth.seen_in("kitchen", after=after)
    descriptions = sorted(thing.description for thing in truth_events)
    condition = {"spatial.room": "kitchen", "perception_type": "visual"}
    return Question(
        words="What was seen in the kitchen in the last five minutes?",
        request=Recall.Request(
            n=100,
            context_filter=json.dumps(condition),
            after=Time(sec=after // 10**9, nanosec=after % 10**9),
        ),
        reading=lambda memories: _things([memory.label for memory in memories]),
        truth=_things([thing.label for thing in truth_events]),
        is_true=lambda memories: sorted(memory.content for memory in memories) == descriptions,
    )


def in_chinese(truth: Truth) -> Question:
    """Return a question about what was heard and seen in the first round."""
    leak = truth.remark("leak").text
    return Question(
        words="哪里在漏水？ (Where is water leaking?)",
        request=Recall.Request(query="哪里在漏水？", n=1),
        reading=lambda memories: str(memories[0].content),
        truth=leak,
        is_true=lambda memories: bool(memories[0].content == leak),
    )


def _wrongly_asked() -> Question:
    return Question(
        words='A wrong request: {"task.success": {"$is": true}}',
        request=Recall.Request(query="glass", context_filter='{"task.success": {"$is": true}}'),
        reading=lambda memories: str(memories[0].content),
        truth="no such operator: an error that names it",
        is_true=bool,
        error="$is",
    )


def _forces(memories: Memories) -> list[float]:
    return [float(json.loads(memory.context)["params"]["force"]["value"]) for memory in memories]


def _newtons(forces: list[float]) -> str:
    return ", ".join(f"{force:g}" for force in forces) + " N"


def _things(labels: list[str]) -> str:
    return f"{len(labels)} things: {', '.join(sorted(set(labels)))}"


def _place(memory: Memory) -> str:
    return "({:.2f}, {:.2f}, {:.2f})".format(*json.loads(memory.context)["spatial"]["object_position"])
