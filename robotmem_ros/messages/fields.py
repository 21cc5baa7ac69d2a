"""Convert the fields of messages by their types: to arguments of the core, and from attributes of its values.

Every value that goes into a message is of the exact type of its field: rclpy does not check, and what is wrong there
ends the process.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from array import array
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, PoseStamped, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMessage
from std_msgs.msg import Header

from robotmem_ros import msg
from robotmem_ros.msg import Box, Count
from robotmem_ros.msg import Change as ChangeMessage
from robotmem_ros.msg import Event as EventMessage
from robotmem_ros.msg import Group as GroupMessage
from robotmem_ros.msg import Memory as MemoryMessage

from ..memory import Change, Hit, Memory, Pose
from ..memory.clocks import nanoseconds, stamp_ns
from ..memory.errors import InvalidFieldError, shown
from ..memory.models import Event, Size
from ..memory.sessions.consolidation import Group

NS = 1_000_000_000
_MAX_SEC = 2**31 - 1
BITS = (8, 16, 32, 64)
_OF_HIT = [one.name for one in dataclasses.fields(Hit) if one.name != "memory"]
_SEQUENCE = re.compile(r"sequence<(?P<element>.+?)(?:, (?P<limit>\d+))?>|(?P<item>.+)\[\d+\]")


def field_types(message: Any) -> Iterable[tuple[str, str]]:
    """Return the fields of a message, or of its class, with their types."""
    types: Mapping[str, str] = message.get_fields_and_field_types()
    return types.items()


def fields_of(message: Any, *, but: Container[str] = ()) -> dict[str, Any]:
    """Return the fields of a request as arguments of the core, which have the same names.

    Raises:
        InvalidFieldError: a time, a duration or a position cannot be used.
    """
    types = ((name, kind) for name, kind in field_types(message) if name not in but)
    return {name: from_field(kind)(name, getattr(message, name)) for name, kind in types}


def fill(message: Any, value: object = None, **instead: Any) -> Any:
    """Fill the fields of a message with the attributes of a value that have the same names, and return the message.

    `instead` has fields that are no attribute of the value. `success` and `error` of a response stay as they are.

    Raises:
        FieldError: a value does not fit its field.
    """
    for name, kind in field_types(message):
        if name in instead:
            set_field(message, name, kind, instead[name])
        elif name not in {"success", "error"}:
            set_field(message, name, kind, getattr(value, ATTRIBUTES.get(name, name)))
    return message


class FieldError(TypeError):
    """A value of the core does not fit the field of a message, which the error names with its type."""


def set_field(message: Any, name: str, kind: str, value: object) -> None:
    """Set a field to a value of the core.

    Raises:
        FieldError: the value does not fit.
    """
    try:
        setattr(message, name, to_field(kind)(value))
    except FieldError:
        raise  # of a message within it, which says more
    except Exception as cause:
        raise FieldError(f"{type(message).__name__}.{name}: {shown(value)} does not fit {kind}: {cause}") from cause


@cache
def from_field(kind: str) -> Callable[[str, Any], Any]:
    """Return the converter of a field of this type, called with name and value.

    A sequence becomes a list; a sequence of at most one element becomes that element or None.

    Raises:
        KeyError: nothing converts it.
    """
    if kind in _FROM_FIELD:
        return _FROM_FIELD[kind]
    element, limit = sequence_of(kind)
    convert = from_field(element)
    if limit == 1:
        return lambda name, values: convert(name, values[0]) if values else None
    return lambda name, values: [convert(name, value) for value in values]


@cache
def to_field(kind: str) -> Callable[[Any], Any]:
    """Return the converter of a value into a field of this type, the reverse of `from_field`.

    Raises:
        KeyError: nothing converts it.
    """
    if kind in _TO_FIELD:
        return _TO_FIELD[kind]
    package, _, name = kind.partition("/")
    if package == "robotmem_ros":
        message = getattr(msg, name)
        return lambda value: fill(message(), value)
    element, limit = sequence_of(kind)
    convert = to_field(element)
    if limit == 1:
        return lambda value: [] if value is None else [convert(value)]
    return lambda values: [convert(value) for value in values]


def sequence_of(kind: str) -> tuple[str, int | None]:
    """Return the type of the elements of a sequence or array, and how many a sequence may have.

    Raises:
        KeyError: it is neither.
    """
    match = _SEQUENCE.fullmatch(kind)
    if match is None:
        raise KeyError(f"a field of the type {kind} needs a row in _FROM_FIELD (requests) or _TO_FIELD (results)")
    return match["element"] or match["item"], int(match["limit"]) if match["limit"] else None


def time_from(field: str, message: Time) -> int | None:
    """Return nanoseconds since the epoch; None for a zero time.

    Raises:
        InvalidFieldError: the time lies before the epoch, or its nanoseconds make a second or more.
    """
    if message.sec < 0 or message.nanosec >= NS:
        raise InvalidFieldError(field, f"{message.sec} s {message.nanosec} ns", "is no time after the epoch")
    return stamp_ns(message) or None


def seconds_from(field: str, message: Duration) -> float:
    """Return the seconds of a duration.

    Raises:
        InvalidFieldError: the duration is negative, or its nanoseconds make a second or more.
    """
    if message.sec < 0 or message.nanosec >= NS:
        raise InvalidFieldError(field, f"{message.sec} s {message.nanosec} ns", "is no duration of 0 s or more")
    return int(message.sec) + int(message.nanosec) / NS


def time_message(time_ns: int) -> Time:
    """Return a time message; a time that does not fit 32-bit seconds becomes the last second that does."""
    sec, nanosec = divmod(time_ns, NS)
    return Time(sec=min(int(sec), _MAX_SEC), nanosec=int(nanosec))


def _fitting(low: int, high: int, value: Any) -> int:
    # A negative number, such as -1 for "unknown", is 0 in a field without a sign.
    number = int(value) if low else max(int(value), 0)
    if not low <= number <= high:
        raise OverflowError(f"it must lie in {low} to {high}")
    return number


def _text(value: object) -> str:
    text = value.value if isinstance(value, Enum) else value
    if not isinstance(text, str):
        raise TypeError("it must be text")
    return text


def _exact_float(value: float) -> float:
    """Return the number that a 32-bit float stands for: 0.3 travels as 0.30000001192..., and six digits hold."""
    return round(value, 6) if math.isfinite(value) else value


def _place_from(message: Any) -> dict[str, Any]:
    point = message.target.point
    return {
        "field": message.field,
        "target": (point.x, point.y) if math.isnan(point.z) else (point.x, point.y, point.z),
        "frame_id": message.target.header.frame_id,
        "max_distance": None if message.max_distance == 0.0 else message.max_distance,
    }


def _box_from(message: Box) -> dict[str, Any]:
    corners = [(corner.x, corner.y, corner.z) for corner in (message.min_corner, message.max_corner)]
    size = 3 if any(z != 0.0 for _, _, z in corners) else 2
    low, high = (corner[:size] for corner in corners)
    return {"field": message.field, "frame_id": message.frame_id, "min_corner": low, "max_corner": high}


def pose_from(message: PoseMessage) -> Pose:
    """Return a pose of a message."""
    position, turn = message.position, message.orientation
    return Pose(position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w)


def pose_message(pose: Pose) -> PoseMessage:
    """Return a pose as a message."""
    return PoseMessage(
        position=Point(x=float(pose.x), y=float(pose.y), z=float(pose.z)),
        orientation=Quaternion(x=float(pose.qx), y=float(pose.qy), z=float(pose.qz), w=float(pose.qw)),
    )


def point_message(position: Sequence[float]) -> Point:
    """Return a position as a message."""
    x, y, z = position
    return Point(x=float(x), y=float(y), z=float(z))


def vector_message(size: Size | None) -> Vector3:
    """Return a size as a message: zeros if it is unknown."""
    x, y, z = size or (0.0, 0.0, 0.0)
    return Vector3(x=float(x), y=float(y), z=float(z))


def _group_message(group: Group) -> GroupMessage:
    first, members, duplicates = group.representative, group.members, group.superseded
    return fill(
        GroupMessage(), group, representative=first.id, content=first.content, category=first.category,
        members=[fact.id for fact in members], member_contents=[fact.content for fact in members],
        superseded=[fact.id for fact in duplicates], superseded_contents=[fact.content for fact in duplicates],
    )  # fmt: skip


def _memory_message(found: Memory | Hit) -> MemoryMessage:
    # A memory that no recall found has the values that a hit has by default.
    hit = found if isinstance(found, Hit) else Hit(found)
    memory = hit.memory
    covariance = memory.position_covariance
    return fill(
        MemoryMessage(), memory, **{name: getattr(hit, name) for name in _OF_HIT},
        pose_stamped=PoseInFrame(memory.pose, memory.frame_id) if memory.pose else None,
        position_covariance=[part for row in covariance.rows() for part in row] if covariance else (),
    )  # fmt: skip


def _event_message(event: Event) -> EventMessage:
    pose = PoseInFrame(event.pose, event.frame_id) if event.pose else None
    return fill(EventMessage(), event, stamp=event.at, last_observed=event.observed_at, pose=pose)


class PoseInFrame(NamedTuple):
    """A pose that goes into a message with its frame."""

    pose: Pose
    frame_id: str


def pose_stamped(pose: Pose, frame_id: str) -> PoseStamped:
    """Return the pose of a memory in its frame as a message, whose stamp is zero: tf takes the latest transform.

    So it is a goal of navigation, if the robot can stand there.
    """
    return PoseStamped(header=Header(frame_id=frame_id), pose=pose_message(pose))


def _change_message(change: Change) -> ChangeMessage:
    before = json.dumps(change.before, ensure_ascii=False)
    return fill(ChangeMessage(), change, changed=nanoseconds(change.changed_at), before=before)


_FROM_FIELD: Mapping[str, Callable[[str, Any], Any]] = {
    "boolean": lambda name, value: bool(value),
    **dict.fromkeys((f"{sign}int{bits}" for sign in ("", "u") for bits in BITS), lambda name, value: int(value)),
    "float": lambda name, value: _exact_float(value),
    "double": lambda name, value: float(value),
    "string": lambda name, value: value,
    "sequence<uint8>": lambda name, value: bytes(value),
    "geometry_msgs/Pose": lambda name, value: pose_from(value),
    "geometry_msgs/Vector3": lambda name, value: (value.x, value.y, value.z),
    "robotmem_ros/SpatialSort": lambda name, value: _place_from(value),
    "robotmem_ros/Place": lambda name, value: _place_from(value),
    "robotmem_ros/Box": lambda name, value: _box_from(value),
    "builtin_interfaces/Time": time_from,
    "builtin_interfaces/Duration": seconds_from,
}
"""Converters into values of the core, by the type of a field of a request."""
_TO_FIELD: Mapping[str, Callable[[Any], Any]] = {
    "boolean": bool,
    **{f"int{bits}": partial(_fitting, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in BITS},
    **{f"uint{bits}": partial(_fitting, 0, 2**bits - 1) for bits in BITS},
    "float": float,
    "double": float,
    "string": _text,
    "sequence<uint8>": lambda value: array("B", value),
    "sequence<robotmem_ros/Count>": lambda value: [Count(name=name, n=int(n)) for name, n in value.items()],
    "robotmem_ros/Change": _change_message,
    "robotmem_ros/Event": _event_message,
    "robotmem_ros/Group": _group_message,
    "robotmem_ros/Memory": _memory_message,
    "geometry_msgs/Point": point_message,
    "geometry_msgs/Pose": pose_message,
    "geometry_msgs/PoseStamped": lambda value: pose_stamped(*value),
    "geometry_msgs/Vector3": vector_message,
    "builtin_interfaces/Time": lambda value: time_message(value or 0),
}
"""Converters from values of the core, by the type of a field of a message that is not filled field by field."""
ATTRIBUTES = {
    "stamp": "observed_at",
    "created": "created_at",
    "context": "context_json",
    "metadata": "metadata_json",
    "protected_memories": "protected",
}
"""Attributes of the core by the names of fields that differ from them."""
