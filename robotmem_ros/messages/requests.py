"""Read requests of services into the arguments of verbs, and fill them: each value checked, and of its field's type.

What a request cannot carry is an error that says so: a value never arrives as another one.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, partial
from typing import Any

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PointStamped, PoseStamped
from geometry_msgs.msg import Pose as PoseMessage

from robotmem_ros.msg import Box, Perception, Place, SpatialSort

from ..memory import InvalidFieldError, validation
from ..memory.argument import MAX_CONTEXT, MAX_IDS
from ..memory.models import MemoryUpdate, NewPerception
from ..memory.search.query import NEARBY, ORIGIN, is_object, place_object
from .fields import (
    BITS,
    NS,
    field_types,
    fields_of,
    point_message,
    pose_message,
    sequence_of,
    time_from,
    time_message,
    vector_message,
)

TRANSFORM_TIMEOUT = 1.0
"""Seconds that a target in another frame may wait for its transform: the node may listen to /tf only from it on."""
_GREATEST_FLOAT32 = 3.4028234663852886e38
_EMPTY: tuple[object, ...] = ("", None, [])
Clock = Callable[[], int]
"""Function that returns the time now, in nanoseconds since the epoch."""
_IN_PROCESS = "cannot be told to a node: leave it out, or open the file with RobotMemory"


def arguments_of(request: Any, clock: Clock) -> dict[str, Any]:
    """Return the arguments of a verb that a request carries.

    A number of results that is not set is the default one, and a stamp that is not set is what the clock shows.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    arguments = fields_of(request, but=() if getattr(request, "n", 1) else {"n"})
    for name, field in _FIELDS.items():
        if field in arguments:
            del arguments[field]
            arguments[name] = stamp_from(field, getattr(request, field), clock)
    return arguments


def stamp_from(field: str, message: Time, clock: Clock) -> int:
    """Return nanoseconds since the epoch; for a zero time, what the clock shows.

    Raises:
        InvalidFieldError: it is no time, or the clock shows none.
    """
    stamp = time_from(field, message) or clock()
    if stamp <= 0:
        problem = "is not set, and the clock shows no time yet: set it, or publish /clock if use_sim_time is true"
        raise InvalidFieldError(field, 0, problem)
    return stamp


def correction_of(request: Any, clock: Clock) -> dict[str, Any]:
    """Return the arguments of a correction that a request carries, in which an empty field is none."""
    return {name: value for name, value in arguments_of(request, clock).items() if value not in _EMPTY}


def fill_request(message: Any, request: Any) -> Any:
    """Fill the fields of a request with the arguments of the same names, and return the message.

    An argument of None, and a field that is no argument, stays as the message has it.

    Raises:
        InvalidFieldError: an argument cannot be used, or the request has no field for it.
    """
    types = dict(field_types(message))
    for entry in dataclasses.fields(request):
        name, value = _FIELDS.get(entry.name, entry.name), getattr(request, entry.name)
        if name in types:
            # Zero is no count, but the default of a number such as the event to begin after.
            if value is not None and not (type(value) is int and value == 0 == entry.default):
                setattr(message, name, to_argument(types[name])(entry.name, value))
        elif value != entry.default:
            raise InvalidFieldError(entry.name, value, _IN_PROCESS)
    return message


def fill_perception(message: Any, request: NewPerception) -> Any:
    """Fill the request of a perception, whose frame and time are in a header, and its format in a field of its own."""
    perception: Perception = message.perception
    framed = _with_frame(request)
    if framed.frame_id is not None:
        perception.header.frame_id = _text("frame_id", framed.frame_id)
    if framed.observed_at is not None:
        perception.header.stamp = _time("observed_at", framed.observed_at)
    if framed.metadata is not None:
        metadata = validation.json_object("metadata", framed.metadata, limit=MAX_CONTEXT)
        if metadata.keys() - {"format"}:
            raise InvalidFieldError("metadata", framed.metadata, f"has more than a `format`, which {_IN_PROCESS}")
        perception.data_format = _text("metadata.format", metadata.get("format", ""))
    fill_request(perception, dataclasses.replace(framed, frame_id=None, observed_at=None, metadata=None))
    return message


def fill_correction(message: Any, request: MemoryUpdate) -> Any:
    """Fill the request of a correction, in which an empty field is none: what is to be emptied is named in `clear`."""
    framed = _with_frame(request)
    given = {entry.name: getattr(framed, entry.name) for entry in dataclasses.fields(framed) if entry.name != "clear"}
    emptied = [name for name, value in given.items() if isinstance(value, (str, list, tuple)) and not len(value)]
    rest = dataclasses.replace(framed, **dict.fromkeys(emptied), clear=[*_list("clear", framed.clear), *emptied])
    return fill_request(message, rest)


def _with_frame(request: Any) -> Any:
    # A stamped pose brings its frame.
    if not isinstance(request.pose, PoseStamped):
        return request
    frame_id = request.pose.header.frame_id if request.frame_id is None else request.frame_id
    return dataclasses.replace(request, pose=request.pose.pose, frame_id=frame_id)


@cache
def to_argument(kind: str) -> Callable[[str, Any], Any]:
    """Return the converter of an argument into a field of this type, called with name and value.

    Raises:
        KeyError: nothing converts it.
    """
    if kind in _CONVERTERS:
        return _CONVERTERS[kind]
    element, limit = sequence_of(kind)
    convert = to_argument(element)
    if limit == 1:
        # A text that is blank is no place.
        may_be_blank = element.startswith("robotmem_ros/")
        return lambda name, value: [] if may_be_blank and _is_blank(value) else [convert(name, value)]
    return lambda name, values: [convert(name, value) for value in _list(name, values)]


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and validation.is_blank(value)


def _list(name: str, values: Any) -> list[Any]:
    if isinstance(values, str):
        return [values]
    if not isinstance(values, Iterable):
        raise InvalidFieldError(name, values, "must be a list")
    return validation.limited(name, values, MAX_IDS, "entries")


def _text(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return validation.json_text(name, value, limit=MAX_CONTEXT)
    text = value.value if isinstance(value, Enum) else value
    validation.text(name, text, limit=sys.maxsize)
    return str(text)


def _id(name: str, value: object) -> int:
    ids = validation.one_or_more(name, value)
    if len(ids) != 1:
        raise InvalidFieldError(name, value, f"is {len(ids)} ids; a request takes one")
    return ids[0]


def _count(bits: int) -> Callable[[str, Any], int]:
    # A zero on the wire is the default of the verb.
    return lambda name, value: validation.whole(name, value, low=1, high=min(2**bits - 1, validation.LATEST_NS))


def _single_precision(name: str, value: object) -> float:
    return validation.number(name, value, low=-_GREATEST_FLOAT32, high=_GREATEST_FLOAT32)


def _time(name: str, value: Any) -> Any:
    if value == 0:
        raise InvalidFieldError(name, value, "is no time in a request, where zero means none; give 1 ns or more")
    return time_message(value)


def _duration(name: str, value: object) -> Duration:
    seconds, nanoseconds = divmod(round(validation.number(name, value, low=0.0, high=2.0**31 - 1) * NS), NS)
    return Duration(sec=int(seconds), nanosec=int(nanoseconds))


def _pose(name: str, value: Any) -> PoseMessage:
    # None is no pose, and does not come here.
    pose = None if isinstance(value, PoseMessage) else validation.pose(name, value)
    return value if pose is None else pose_message(pose)


def _place(name: str, value: object) -> Place:
    """Return a place; numbers alone have the radius that the core gives them."""
    place = _target(Place, name, value)
    if not (is_object(value) or isinstance(value, (Place, SpatialSort))):
        place.max_distance = NEARBY
    return place


def _target(kind: Any, name: str, value: Any) -> Any:
    if isinstance(value, (Place, SpatialSort)):
        return kind(**{field: getattr(value, field) for field, _ in field_types(kind)})
    if isinstance(value, PointStamped):
        return kind(target=value)
    if isinstance(value, PoseStamped):
        return kind(target=PointStamped(header=value.header, point=value.pose.position))
    parts = _parts(name, place_object(name, value), {"field", "target", "frame_id", "max_distance"})
    made = kind(**_field(name, parts))
    target = parts.get("target")
    target = ORIGIN if target is None and parts.get("frame_id") else validation.coordinates(f"{name}.target", target)
    made.target.point = point_message((*target, math.nan)[:3])
    if frame_id := parts.get("frame_id"):
        made.target.header.frame_id = _text(f"{name}.frame_id", frame_id)
        made.transform_timeout = _duration("transform_timeout", TRANSFORM_TIMEOUT)
    if (distance := parts.get("max_distance")) is not None:
        made.max_distance = validation.number(f"{name}.max_distance", distance, low=0.0)
        if not made.max_distance:
            raise InvalidFieldError(f"{name}.max_distance", distance, "means none in a request; give more than 0")
    return made


def _box(name: str, value: Any) -> Box:
    if isinstance(value, Box):
        return value
    parts = _parts(name, value, {"field", "frame_id", "min_corner", "max_corner"})
    corners = {
        corner: validation.coordinates(f"{name}.{corner}", parts.get(corner)) for corner in ("min_corner", "max_corner")
    }
    low, high = corners.values()
    if len(low) != len(high):
        raise InvalidFieldError(f"{name}.max_corner", high, f"must have as many numbers as min_corner, {list(low)}")
    if low[2:] == high[2:] == (0.0,):
        raise InvalidFieldError(name, value, "has no height, which means any in a request; give two numbers for that")
    points = {corner: point_message((*numbers, 0.0)[:3]) for corner, numbers in corners.items()}
    return Box(**_field(name, parts), frame_id=_text(f"{name}.frame_id", parts.get("frame_id") or ""), **points)


def _parts(name: str, value: object, names: set[str]) -> Mapping[str, Any]:
    parts = validation.json_object(name, value, limit=MAX_CONTEXT) if isinstance(value, str) else value
    if not isinstance(parts, Mapping):
        raise InvalidFieldError(name, value, f"must be an object with {', '.join(sorted(names))}")
    if unknown := sorted(map(str, parts.keys() - names)):
        raise InvalidFieldError(name, unknown, f"is unknown; there are {', '.join(sorted(names))}")
    return parts


def _field(name: str, parts: Mapping[str, Any]) -> dict[str, str]:
    return {"field": _text(f"{name}.field", parts["field"])} if parts.get("field") else {}


_FIELDS = {"observed_at": "stamp"}
"""Names of fields, by the arguments that have other ones."""
_CONVERTERS: Mapping[str, Callable[[str, Any], Any]] = {
    "boolean": validation.flag,
    **dict.fromkeys((f"int{bits}" for bits in BITS), _id),
    **{f"uint{bits}": _count(bits) for bits in BITS},
    "float": _single_precision,
    "double": validation.number,
    "string": _text,
    "sequence<int64>": lambda name, value: list(validation.ids(name, value, in_order=True)),
    "sequence<uint8>": lambda name, value: array("B", value),
    "geometry_msgs/Pose": _pose,
    "geometry_msgs/Vector3": lambda name, value: vector_message(validation.size(name, value)),
    "robotmem_ros/SpatialSort": partial(_target, SpatialSort),
    "robotmem_ros/Place": _place,
    "robotmem_ros/Box": _box,
    "builtin_interfaces/Time": _time,
    "builtin_interfaces/Duration": _duration,
}
"""Converters of arguments, by the types of their fields."""
