"""Fill responses of services with results, and read them into the values and errors of the core.

What a response does not have is as if it were unknown: see docs/clients.md.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3

from robotmem_ros.msg import Change as ChangeMessage
from robotmem_ros.msg import Event as EventMessage
from robotmem_ros.msg import Group as GroupMessage
from robotmem_ros.msg import Memory as MemoryMessage

from ..memory import (
    BriefMemory,
    Change,
    Count,
    Event,
    FrameMismatchError,
    Hit,
    InvalidFieldError,
    Learned,
    MemoriesInFull,
    Memory,
    MemoryDetails,
    MemoryNotFoundError,
    Mode,
    PerceptionData,
    Pose,
    RecallResult,
    RobotMemoryError,
    SessionNotFoundError,
    Stored,
)
from ..memory.clocks import iso, stamp_ns
from ..memory.errors import shown
from ..memory.geometry import Covariance
from ..memory.maps.approach import Approach
from ..memory.models import Session, Size
from ..memory.search.counts import Counts
from ..memory.search.details import LeftOut
from ..memory.sessions.consolidation import Consolidation, Group
from ..memory.sessions.sessions import SessionReport
from ..memory.storage.session_rows import SessionFact
from .fields import ATTRIBUTES, PoseInFrame, field_types, fill, from_field, pose_from, time_message

T = TypeVar("T")


def read(kind: type[T], message: Any, **known: object) -> T:
    """Return a value of the core with the fields of a message of the same names; `known` has what is no field."""
    types, hints, values = dict(field_types(message)), get_type_hints(kind), dict(known)
    for name in hints:
        field = _FIELD_OF.get(name, name)
        if name not in known and field in types:
            values[name] = _value(hints[name], getattr(message, field), types[field])
    return kind(**values)


def read_field(kind: Any, response: Any, field: str) -> Any:
    """Return the result of a verb that returns this type, which is a field of the response."""
    return _value(kind, getattr(response, field), dict(field_types(response))[field])


def _value(hint: Any, value: Any, kind: str) -> Any:
    # By the type of the attribute first, since a field has another one: what may be None is a sequence or a zero time.
    if hint in _READERS:
        return _READERS[hint](value)
    origin, arguments = get_origin(hint), [one for one in get_args(hint) if one is not NoneType]
    if NoneType in get_args(hint):
        if isinstance(value, Time):
            return stamp_ns(value) or None
        return _value(arguments[0], value[0], kind) if len(value) else None
    if origin is tuple and isinstance(value, Point):
        return value.x, value.y, value.z
    if origin is tuple:
        return tuple(_value(arguments[0], one, kind) for one in value)
    if origin is not None and issubclass(origin, Mapping):
        return {count.name: int(count.n) for count in value}
    if isinstance(value, Time):
        return stamp_ns(value)
    if hasattr(value, "get_fields_and_field_types"):
        return read(hint, value)
    return hint(from_field(kind)("", value) if kind == "float" else value)


def _size(message: Vector3) -> Size | None:
    return Size(message.x, message.y, message.z) if message.x else None


def _memory(message: MemoryMessage) -> Memory:
    numbers = message.position_covariance
    covariance = Covariance.of((numbers[:3], numbers[3:6], numbers[6:])) if len(numbers) else None
    return read(Memory, message, map_id="", position_covariance=covariance, size=_size(message.size))


def _hit(message: MemoryMessage) -> Hit:
    return read(Hit, message, memory=_memory(message))


def _change(message: ChangeMessage) -> Change:
    return read(Change, message, changed_at=iso(stamp_ns(message.changed)), before=json.loads(message.before))


def _group(message: GroupMessage) -> Group:
    def facts(ids: Any, contents: Any, category: str = "") -> tuple[SessionFact, ...]:
        pairs = zip(ids, contents, strict=True)
        return tuple(SessionFact(int(one), text, category, "{}", "", "", math.nan) for one, text in pairs)

    (representative,) = facts([message.representative], [message.content], message.category)
    members = facts(message.members, message.member_contents)
    superseded = facts(message.superseded, message.superseded_contents)
    return Group(representative, members, superseded, message.similarity)


def learned_fact(request: Any, response: Any) -> Learned:
    """Read what came of a fact."""
    return read(Learned, response, is_new=response.status != response.DUPLICATE)


def stored_perception(request: Any, response: Any) -> Stored:
    """Read what came of a perception; the first sighting of an object made it."""
    return read(Stored, response, is_new=response.times_seen <= 1)


class Found(NamedTuple):
    """The result of a recall as its response has it: in full or in brief."""

    memories: tuple[Hit, ...]
    brief_memories: tuple[BriefMemory, ...]
    mode: Mode
    reason: str
    relevant: bool
    pose_stamp: int = 0
    """When the poses are in their frame; 0 for always."""


def fill_found(response: Any, result: Found) -> None:
    """Fill a response with what was recalled, and stamp poses that are in a frame that moves."""
    fill(response, result)
    if result.pose_stamp:
        for memory in response.memories:
            for pose in memory.pose_stamped:
                pose.header.stamp = time_message(result.pose_stamp)


def recall_result(request: Any, response: Any) -> RecallResult:
    """Read what a recall found."""
    return RecallResult(tuple(map(_hit, response.memories)), Mode(response.mode), response.reason, response.relevant)


def memories_in_full(request: Any, response: Any) -> MemoriesInFull:
    """Read memories in full."""
    memories = tuple(
        read(MemoryDetails, full, data=next((_data(full.memory.id, data) for data in full.data), None))
        for full in response.memories
    )
    parts = re.split(r"(?:^|; )memory (-?\d+) ", response.reason)[1:]
    left_out = (LeftOut(int(one), why) for one, why in zip(parts[::2], parts[1::2], strict=True))
    return MemoriesInFull(memories, tuple(left_out))


def _data(memory_id: int, message: Any) -> PerceptionData:
    return PerceptionData(memory_id, message.perception_type, bytes(message.data), message.metadata)


def data(request: Any, response: Any) -> PerceptionData:
    """Read the data of a perception."""
    return _data(request.memory_id, response)


def fill_counts(response: Any, result: Counts) -> None:
    """Fill a response with the numbers of memories that have each value."""
    fill(response, counts=dict(result), reason=result.reason)


def counts(request: Any, response: Any) -> Counts:
    """Read counts."""
    return Counts.of((Count(one.name, int(one.n)) for one in response.counts), len(response.counts), response.reason)


def fill_approach(response: Any, result: Approach) -> None:
    """Fill a response with poses from which to look at a thing."""
    fill(response, result, poses=[PoseInFrame(pose, result.frame_id) for pose in result.poses])


def approach(request: Any, response: Any) -> Approach:
    """Read poses from which to look at a thing."""
    poses = tuple(pose_from(message.pose) for message in response.poses)
    frame_id = response.poses[0].header.frame_id if poses else ""
    return Approach(poses, frame_id, "", response.reason)


def fill_report(response: Any, result: SessionReport) -> None:
    """Fill a response with what came of a session."""
    session, groups = result.session, result.consolidation
    fill(
        response, result, started=session.started_at, ended=session.ended_at, considered=groups.considered,
        groups=groups.groups,
    )  # fmt: skip


def report(request: Any, response: Any) -> SessionReport:
    """Read the report of a session."""
    times = stamp_ns(response.started), stamp_ns(response.ended)
    session = Session(request.session_id, "", "{}", *times, "ended", request.outcome_score)
    groups = consolidation(request, response)
    return read(SessionReport, response, session=session, consolidation=groups)


def consolidation(request: Any, response: Any) -> Consolidation:
    """Read the groups of a session."""
    groups = tuple(map(_group, response.groups))
    dry_run = getattr(request, "dry_run", False)  # not at the end of a session
    collection = getattr(request, "collection", None) or ""
    return Consolidation(request.session_id, collection, int(response.considered), groups, dry_run)


def error_of(text: str, request: Any) -> RobotMemoryError:
    """Return the error of the core that a response tells: of the class whose message has this form."""
    located = _LOCATED.match(text)
    if located is None:
        return RobotMemoryError(text)
    field, problem = located[1], text[located.end() :]
    _, is_missing, reason = problem.partition(" cannot be used, ")
    if is_missing and field == "session_id":
        return SessionNotFoundError(request.session_id, reason)
    if is_missing and (memory_id := re.match(r"-?\d+ ", problem)):
        return MemoryNotFoundError(int(memory_id[0]), reason)
    value = getattr(request, re.split(r"[.\[]", field)[0], None)
    if problem.startswith("frame "):
        return _error(FrameMismatchError, text, field=field, value=value)
    expected = problem.removeprefix(f"{shown(value)} ")
    return _error(InvalidFieldError, text, field=field, value=value, expected=expected)


def _error(kind: type[RobotMemoryError], text: str, **attributes: object) -> RobotMemoryError:
    # Its text is there, of which its class would make another one.
    error = kind.__new__(kind)
    RobotMemoryError.__init__(error, text)
    vars(error).update(attributes)
    return error


_LOCATED = re.compile(r"([a-z_]\w*(?:[.\[][^\s:]*)*): ")
"""A field at the beginning of an error: one word, while sentences have spaces before their first colon."""
_FIELD_OF = {attribute: field for field, attribute in ATTRIBUTES.items()}


def _event(message: EventMessage) -> Event:
    pose = message.pose[0] if message.pose else None
    return read(
        Event, message, at=stamp_ns(message.stamp), observed_at=stamp_ns(message.last_observed),
        pose=pose and pose_from(pose.pose), frame_id=pose.header.frame_id if pose else "",
    )  # fmt: skip


_READERS: Mapping[Any, Callable[[Any], Any]] = {
    Memory: _memory, Hit: _hit, Change: _change, Group: _group, Pose: pose_from,
    Event: _event,
}  # fmt: skip
"""Readers of what is not read field by field, by the type of the value."""
