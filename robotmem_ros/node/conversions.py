"""Convert what needs more of the node than fields of messages: its parameters, its clock and its transforms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from builtin_interfaces.msg import Duration

from robotmem_ros.msg import Perception

from ..memory import BriefMemory, Memory, validation
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.geometry import Covariance
from ..memory.models import NewMemory, NewPerception
from ..memory.new_memory import new_perception
from ..messages.fields import NS, fields_of, time_from
from ..messages.requests import Clock, stamp_from
from ..messages.responses import Found
from .transforms import Target, TimedTransform

M = TypeVar("M", Memory, BriefMemory)


def in_frame(found: Found, target: Target, timed: TimedTransform, map_id: str) -> Found:
    """Return it with the poses of a map in another frame, if they are in the source of that."""

    def moved(memory: M) -> M:
        if memory.pose is None or (memory.frame_id, memory.map_id) != (target.source, map_id):
            return memory
        pose = timed.transform.apply_pose(memory.pose)
        if isinstance(memory, BriefMemory):
            return replace(memory, pose=pose, frame_id=target.target)
        origin = memory.moved_from and timed.transform.apply_pose(memory.moved_from)
        memory = replace(memory, pose=pose, frame_id=target.target, moved_from=origin)
        if memory.position_covariance is None:
            return memory
        covariance = Covariance.of(timed.transform.apply_covariance(memory.position_covariance.rows()))
        return replace(memory, position_covariance=covariance)

    memories = tuple(replace(hit, memory=moved(hit.memory)) for hit in found.memories)
    brief = tuple(map(moved, found.brief_memories))
    every: tuple[Memory | BriefMemory, ...] = (*(hit.memory for hit in memories), *brief)
    poses = [memory for memory in every if memory.pose is not None]
    rest = sum(memory.frame_id != target.target for memory in poses)
    note = f"{rest} of {len(poses)} poses stay in their own frame or map" if rest else ""
    reason = "; ".join(filter(None, (found.reason, note)))
    return found._replace(memories=memories, brief_memories=brief, reason=reason, pose_stamp=timed.stamp_ns)


def perception_from(
    message: Perception, parameters: Parameters, clock: Clock, *, source: str, received_at: int = 0
) -> NewMemory:
    """Return the perception that a message carries; `received_at` for messages of a stream, see NewPerception.

    `source` says what brought the message, unless its context tells who said it.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    perception = NewPerception(
        **fields_of(message, but={"header", "data_format"}),
        metadata={"format": message.data_format} if message.data_format else None,
        frame_id=message.header.frame_id,
        observed_at=stamp_from("header.stamp", message.header.stamp, clock),
        received_at=received_at,
    )
    return new_perception(parameters, perception, now=clock, source=source)


def target_from(name: str, message: Any, parameters: Parameters) -> Target:
    """Return the target of a SpatialSort or Place in a field of a request, to be transformed into the memory frame.

    Raises:
        InvalidFieldError: a time cannot be used.
    """
    header = message.target.header
    return Target(
        field=f"{name}.target",
        source=header.frame_id,
        target=parameters.memory_frame,
        stamp_ns=time_from(f"{name}.target.header.stamp", header.stamp) or 0,
        timeout=_timeout_from(name, message.transform_timeout, parameters.max_transform_timeout),
    )


def result_frame_from(value: str, parameters: Parameters) -> Target | None:
    """Return into which frame poses are to be transformed; None if it is that of the memory.

    Raises:
        InvalidFieldError: it is no name of a frame.
    """
    frame, own = validation.frame("result_frame", value, default=parameters.memory_frame), parameters.memory_frame
    return None if frame == own else Target("result_frame", own, frame, 0, parameters.transform_timeout, is_result=True)


def _timeout_from(name: str, message: Duration, limit: float) -> float:
    seconds: float = message.sec + message.nanosec / NS
    if message.nanosec >= NS or not 0.0 <= seconds <= limit:
        problem = f"must lie in 0 to {limit:g} s (parameter max_transform_timeout)"
        raise InvalidFieldError(f"{name}.transform_timeout", seconds, problem)
    return seconds
