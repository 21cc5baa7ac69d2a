"""Between messages and the values of the core: the only file that knows both.

Every value that goes into a message is of the exact type of its field: rclpy does not check, and what is wrong there
ends the process.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Quaternion
from geometry_msgs.msg import Pose as PoseMessage

from robotmem_ros.msg import Box, Count, DecayReport, MemoryStatus, Perception, ScoreExplanation, ScorePart
from robotmem_ros.msg import BriefMemory as BriefMemoryMessage
from robotmem_ros.msg import Change as ChangeMessage
from robotmem_ros.msg import Group as GroupMessage
from robotmem_ros.msg import Memory as MemoryMessage
from robotmem_ros.msg import MemoryDetails as MemoryDetailsMessage
from robotmem_ros.msg import PerceptionData as PerceptionDataMessage
from robotmem_ros.msg import Sighting as SightingMessage
from robotmem_ros.msg import TimelineEntry as TimelineEntryMessage
from robotmem_ros.srv import EndSession, GetMemories, Learn, List, ObjectHistory, Update

from ..memory import BriefMemory, Change, Memory, MemoryDetails, Mode, Pose, Sighting, Status
from ..memory import Count as MemoryCount
from ..memory.clocks import nanoseconds
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.models import NewMemory, NewPerception
from ..memory.new_memory import new_perception
from ..memory.sessions.consolidation import Group
from ..memory.sessions.sessions import SessionReport
from .transforms import Target

_NS = 1_000_000_000
_MAX_SEC = 2**31 - 1
_EMPTY: tuple[object, ...] = ("", None, [])

Clock = Callable[[], int]


class Recalled(NamedTuple):
    """The result of a recall as its response has it: in full or in brief."""

    memories: tuple[Memory, ...]
    brief_memories: tuple[BriefMemory, ...]
    mode: Mode
    reason: str


def time_from(field: str, message: Time) -> int | None:
    """Return nanoseconds since the epoch; None for a zero time.

    Raises:
        InvalidFieldError: the time lies before the epoch, or its nanoseconds make a second or more.
    """
    if message.sec < 0 or message.nanosec >= _NS:
        raise InvalidFieldError(field, f"{message.sec} s {message.nanosec} ns", "is no time after the epoch")
    total = int(message.sec) * _NS + int(message.nanosec)
    return total or None


def seconds_from(field: str, message: Duration) -> float:
    """Return the seconds of a duration.

    Raises:
        InvalidFieldError: the duration is negative, or its nanoseconds make a second or more.
    """
    if message.sec < 0 or message.nanosec >= _NS:
        raise InvalidFieldError(field, f"{message.sec} s {message.nanosec} ns", "is no duration of 0 s or more")
    return int(message.sec) + int(message.nanosec) / _NS


def _stamp_from(field: str, message: Time, clock: Clock) -> int:
    """Return nanoseconds since the epoch; for a zero time, what the clock shows."""
    stamp = time_from(field, message) or clock()
    if stamp <= 0:
        why = "is not set, and the clock shows no time yet: set it, or publish /clock if use_sim_time is true"
        raise InvalidFieldError(field, 0, why)
    return stamp


def time_message(time_ns: int) -> Time:
    """Return a time message; a time that does not fit 32-bit seconds becomes the last second that does."""
    sec, nanosec = divmod(time_ns, _NS)
    return Time(sec=min(int(sec), _MAX_SEC), nanosec=int(nanosec))


def learn_fields(request: Learn.Request, clock: Clock) -> dict[str, Any]:
    """Return the arguments of RobotMemory.learn that a request carries.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return {**fields_of(request, but={"stamp"}), "observed_at": _stamp_from("stamp", request.stamp, clock)}


def perception_from(message: Perception, parameters: Parameters, clock: Clock, *, received_at: int = 0) -> NewMemory:
    """Return the perception that a message carries; `received_at` for what comes with a stream, see NewPerception.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    given = NewPerception(
        **fields_of(message, but={"header", "data_format"}),
        metadata={"format": message.data_format} if message.data_format else None,
        frame_id=message.header.frame_id,
        observed_at=_stamp_from("header.stamp", message.header.stamp, clock),
        received_at=received_at,
    )
    return new_perception(parameters, given, now=clock)


def update_fields(request: Update.Request) -> dict[str, Any]:
    """Return the arguments of RobotMemory.update that a request carries, without what is empty."""
    return {name: value for name, value in fields_of(request).items() if value not in _EMPTY}


def fields_of(message: Any, *, but: Container[str] = ()) -> dict[str, Any]:
    """Return the fields of a request as arguments of the core, which have the same names.

    Raises:
        InvalidFieldError: a time, a duration or a position cannot be used.
    """
    return {name: _FROM_FIELD[kind](name, getattr(message, name)) for name, kind in _types(message) if name not in but}


def fill(message: Any, value: object = None, **instead: Any) -> Any:
    """Fill the fields of a message with the attributes of a value that have the same names, and return the message.

    `instead` has fields that are no attribute of the value. `success` and `error` of a response stay as they are.
    """
    for name, kind in _types(message):
        if name in instead:
            setattr(message, name, _TO_FIELD[kind](instead[name]))
        elif name not in {"success", "error"}:
            setattr(message, name, _TO_FIELD[kind](getattr(value, _ATTRIBUTES.get(name, name))))
    return message


def fill_history(response: ObjectHistory.Response, sightings: tuple[Sighting, ...]) -> None:
    """Fill a response with the sightings of an object."""
    fill(response, sightings=sightings)


def fill_memories(response: GetMemories.Response, memories: tuple[MemoryDetails, ...]) -> None:
    """Fill a response with memories in full."""
    fill(response, memories=memories)


def fill_counts(response: List.Response, counts: tuple[MemoryCount, ...]) -> None:
    """Fill a response with the numbers of memories that have each value."""
    fill(response, counts=dict(counts))


def fill_report(response: EndSession.Response, report: SessionReport) -> None:
    """Fill a response with what came of a session."""
    session, consolidation = report.session, report.consolidation
    fill(
        response, report, started=session.started_at, ended=session.ended_at,
        considered=consolidation.considered, groups=consolidation.groups,
    )  # fmt: skip


def fill_status(message: MemoryStatus, status: Status) -> None:
    """Fill the fields of a status message that the core knows."""
    for name, kind in _types(MemoryStatus):
        if hasattr(status, name):
            setattr(message, name, _TO_FIELD[kind](getattr(status, name)))


def target_from(name: str, message: Any, parameters: Parameters) -> Target:
    """Return the target of a SpatialSort or Place in a field of a request, to be transformed into the memory frame.

    Raises:
        InvalidFieldError: a time cannot be used.
    """
    header, point = message.target.header, message.target.point
    return Target(
        field=f"{name}.target",
        point=(point.x, point.y, point.z),
        source=header.frame_id,
        target=parameters.memory_frame,
        stamp_ns=time_from(f"{name}.target.header.stamp", header.stamp) or 0,
        timeout=_timeout_from(name, message.transform_timeout, parameters.max_transform_timeout),
    )


def _timeout_from(name: str, message: Duration, most: float) -> float:
    seconds: float = message.sec + message.nanosec / _NS
    if message.nanosec >= _NS or not 0.0 <= seconds <= most:
        why = f"must lie in 0 to {most:g} s (parameter max_transform_timeout)"
        raise InvalidFieldError(f"{name}.transform_timeout", seconds, why)
    return seconds


def exact_float(value: float) -> float:
    """Return the number that a 32-bit float stands for: 0.3 travels as 0.30000001192..., and six digits hold."""
    return round(value, 6) if math.isfinite(value) else value


def _place_from(message: Any) -> dict[str, Any]:
    point = message.target.point
    return {
        "field": message.field,
        "target": (point.x, point.y, point.z),
        "frame_id": message.target.header.frame_id,
        "max_distance": None if message.max_distance == 0.0 else message.max_distance,
    }


def _box_from(message: Box) -> dict[str, Any]:
    corners = [(corner.x, corner.y, corner.z) for corner in (message.min_corner, message.max_corner)]
    size = 3 if any(z != 0.0 for _, _, z in corners) else 2
    least, most = (corner[:size] for corner in corners)
    return {"field": message.field, "frame_id": message.frame_id, "min_corner": least, "max_corner": most}


def _pose_from(message: PoseMessage) -> tuple[float, ...]:
    position, turn = message.position, message.orientation
    return position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w


def _pose_message(pose: Pose) -> PoseMessage:
    return PoseMessage(
        position=Point(x=float(pose.x), y=float(pose.y), z=float(pose.z)),
        orientation=Quaternion(x=float(pose.qx), y=float(pose.qy), z=float(pose.qz), w=float(pose.qw)),
    )


def _point_message(position: Sequence[float]) -> Point:
    x, y, z = position
    return Point(x=float(x), y=float(y), z=float(z))


def _group_message(group: Group) -> GroupMessage:
    first, members, superseded = group.representative, group.members, group.superseded
    return fill(
        GroupMessage(), group, representative=first.id, content=first.content, category=first.category,
        members=[one.id for one in members], member_contents=[one.content for one in members],
        superseded=[one.id for one in superseded], superseded_contents=[one.content for one in superseded],
    )  # fmt: skip


def _change_message(change: Change) -> ChangeMessage:
    before = json.dumps(change.before, ensure_ascii=False)
    return fill(ChangeMessage(), change, changed=nanoseconds(change.changed_at), before=before)


def _each(kind: Callable[[], Any]) -> Callable[[Iterable[object]], list[Any]]:
    return lambda values: [fill(kind(), value) for value in values]


def _types(message: Any) -> Iterable[tuple[str, str]]:
    fields: Mapping[str, str] = message.get_fields_and_field_types()
    return fields.items()


_FROM_FIELD: Mapping[str, Callable[[str, Any], Any]] = {
    "boolean": lambda name, value: bool(value),
    "int64": lambda name, value: int(value),
    "uint32": lambda name, value: int(value),
    "float": lambda name, value: exact_float(value),
    "double": lambda name, value: float(value),
    "string": lambda name, value: value,
    "sequence<string>": lambda name, value: list(value),
    "sequence<int64>": lambda name, value: [int(one) for one in value],
    "sequence<uint8>": lambda name, value: bytes(value),
    "sequence<float, 1>": lambda name, value: exact_float(value[0]) if value else None,
    "sequence<geometry_msgs/Pose, 1>": lambda name, value: _pose_from(value[0]) if value else None,
    "sequence<robotmem_ros/SpatialSort, 1>": lambda name, value: _place_from(value[0]) if value else None,
    "sequence<robotmem_ros/Place, 1>": lambda name, value: _place_from(value[0]) if value else None,
    "sequence<robotmem_ros/Box, 1>": lambda name, value: _box_from(value[0]) if value else None,
    "builtin_interfaces/Time": time_from,
    "builtin_interfaces/Duration": seconds_from,
}
"""By the type of a field of a request: its value for the core."""
_TO_FIELD: Mapping[str, Callable[[Any], Any]] = {
    "boolean": bool,
    "int64": int,
    "uint32": int,
    "uint64": lambda value: max(int(value), 0),
    "float": float,
    "double": float,
    "string": lambda value: value.value if isinstance(value, Enum) else value,
    "sequence<string>": list,
    "sequence<int64>": list,
    "sequence<uint8>": lambda value: array("B", value),
    "sequence<geometry_msgs/Pose, 1>": lambda value: [_pose_message(value)] if value else [],
    "sequence<robotmem_ros/Count>": lambda value: [Count(name=name, n=int(n)) for name, n in value.items()],
    "sequence<robotmem_ros/BriefMemory>": _each(BriefMemoryMessage),
    "sequence<robotmem_ros/Change>": lambda value: [_change_message(change) for change in value],
    "sequence<robotmem_ros/Memory>": _each(MemoryMessage),
    "sequence<robotmem_ros/MemoryDetails>": _each(MemoryDetailsMessage),
    "sequence<robotmem_ros/PerceptionData, 1>": lambda value: [fill(PerceptionDataMessage(), value)] if value else [],
    "sequence<robotmem_ros/TimelineEntry>": _each(TimelineEntryMessage),
    "robotmem_ros/Memory": lambda value: fill(MemoryMessage(), value),
    "sequence<robotmem_ros/Group>": lambda value: [_group_message(group) for group in value],
    "sequence<robotmem_ros/ScoreExplanation, 1>": lambda value: [fill(ScoreExplanation(), value)] if value else [],
    "sequence<robotmem_ros/ScorePart>": _each(ScorePart),
    "sequence<robotmem_ros/Sighting>": _each(SightingMessage),
    "robotmem_ros/DecayReport": lambda value: fill(DecayReport(), value),
    "geometry_msgs/Point": _point_message,
    "builtin_interfaces/Time": lambda value: time_message(value or 0),
}
"""By the type of a field of a message: what a value of the core becomes."""
_ATTRIBUTES = {
    "stamp": "observed_at",
    "created": "created_at",
    "context": "context_json",
    "metadata": "metadata_json",
    "protected_memories": "protected",
}
"""Attributes of the core that have another name than their fields."""
