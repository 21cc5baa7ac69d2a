"""Read numbers, texts, stamps, poses and JSON from message fields, as rclpy or rosbags deserialise them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..memory import validation
from ..memory.config.datum import Datum
from ..memory.errors import InvalidFieldError
from ..memory.geometry import Matrix
from ..memory.models import Size
from .counters import DropError, DropReason
from .message_types import FieldType, TypeDescription

Json = Callable[[Any], object]
"""Conversion of a value of a message into JSON."""
_NS = 1_000_000_000
_MOST_WRITTEN = 20
_MOST_LISTED = 1000
_DEEPEST = 16
_COVARIANCE_ROWS = {36: ((0, 1, 2), (6, 7, 8), (12, 13, 14)), 9: ((0, 1, 2), (3, 4, 5), (6, 7, 8)),
                    6: ((0, 1, 2), (1, 3, 4), (2, 4, 5))}  # fmt: skip
"""Indices of the block of the position among 36 or 9 numbers, row by row, or among the 6 of an upper triangle."""
_SLACK = 1e-6
"""Largest error of a float32 near 1.0."""
_MAX_LATITUDE, _MAX_LONGITUDE = 90.0, 180.0
_VECTORS = (("x", "y"), ("x", "y", "z"), ("x", "y", "z", "w"))


def scalar(value: Any) -> Any:
    """Return a plain bool, int, float or str.

    Raises:
        TypeError: it is a message, or an array.
    """
    kind = type(value)
    if kind is str or kind is float or kind is int or kind is bool:
        return value
    if isinstance(value, bytes) and len(value) == 1:
        # rclpy's octet.
        return value[0]
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        # An element of a numpy array.
        return value.item()
    raise TypeError(f"{kind.__name__} is neither a number nor text")


def plain_text(value: Any) -> str:
    """Return a number or text as text without surrounding white space."""
    return value.strip() if isinstance(value, str) else str(scalar(value))


def format_value(value: Any, spec: str) -> str:
    """Format a number or text by `spec`; of an array the first 20 elements, separated by commas."""
    if isinstance(value, (str, float, int)):
        return _format_scalar(value, spec)
    if hasattr(value, "__len__") and not isinstance(value, bytes):
        parts = [_format_scalar(scalar(item), spec) for item in value[:_MOST_WRITTEN]]
        return ", ".join(parts) + (", …" if len(value) > _MOST_WRITTEN else "")
    return _format_scalar(scalar(value), spec)


def _format_scalar(value: str | float, spec: str) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "unknown"
        if not spec:
            # What a float32 of 0.3 holds is 0.30000001192.
            return str(round(value, 6))
    return format(value, spec)


def json_converter(field_type: FieldType, types: TypeDescription, depth: int = 0) -> Json:
    """Compile the conversion of a value of a type into JSON.

    A point or quaternion becomes a list, another message an object, NaN null. It raises DropError for an array of more
    than 1000 elements, and for a text that contains NUL.
    """
    if depth > _DEEPEST:
        return _too_much
    if field_type.is_array:
        return _list_of(json_converter(field_type.element, types, depth + 1))
    if not field_type.is_message:
        return _json_scalar
    fields = types.fields(field_type.name)
    parts = [(name, json_converter(inner, types, depth + 1)) for name, inner in fields.items()]
    if tuple(fields) in _VECTORS:
        return lambda value: [convert(getattr(value, name)) for name, convert in parts]
    return lambda value: {name: convert(getattr(value, name)) for name, convert in parts}


def _list_of(convert: Json) -> Json:
    return lambda value: [convert(item) for item in value] if len(value) <= _MOST_LISTED else _too_much(value)


def _too_much(value: Any) -> object:
    size = f"an array of {len(value)} elements" if hasattr(value, "__len__") else "a message in so many others"
    raise DropError(DropReason.BAD_CONTEXT, f"{size} is too much for the context")


def _json_scalar(value: Any) -> object:
    plain = scalar(value)
    if isinstance(plain, float):
        return round(plain, 9) if math.isfinite(plain) else None
    if isinstance(plain, str) and "\0" in plain:
        raise DropError(DropReason.BAD_CONTEXT, "a text contains NUL")
    return plain


def stamp_ns(stamp: Any) -> int:
    """Return nanoseconds since the epoch; 0 for an unset stamp.

    Raises:
        DropError: it lies before the epoch, or its nanoseconds make a second or more.
    """
    sec, nanosec = int(stamp.sec), int(stamp.nanosec)
    if sec < 0 or not 0 <= nanosec < _NS:
        raise DropError(DropReason.BAD_STAMP, f"{sec} s {nanosec} ns is no time after the epoch")
    return sec * _NS + nanosec


def pose(position: Any, orientation: Any | None) -> tuple[float, ...]:
    """Return x, y, z; and the unit quaternion x, y, z, w unless it is unset (of length zero).

    Each is a message with these fields, or an array; z may be missing.

    Raises:
        DropError: a number is not finite or missing, or the position lies too far out.
    """
    place = _numbers(position, ("x", "y", "z"), least=2)
    turn = () if orientation is None else _quaternion(orientation)
    if not all(math.isfinite(number) for number in (*place, *turn)):
        raise DropError(DropReason.BAD_POSE, f"{(*place, *turn)} is not finite")
    try:
        validation.check_coordinates("position", place)
    except InvalidFieldError as cause:
        raise DropError(DropReason.BAD_POSE, str(cause)) from None
    return (*place, *turn)


def on_earth(datum: Datum, fix: Any) -> tuple[float, float, float]:
    """Return the metres to the east, the north and up of a datum of a message with latitude, longitude and altitude.

    Raises:
        DropError: it is unset (both 0), or no place on Earth.
    """
    latitude, longitude, altitude = float(fix.latitude), float(fix.longitude), float(fix.altitude)
    if not (abs(latitude) <= _MAX_LATITUDE and abs(longitude) <= _MAX_LONGITUDE):
        raise DropError(DropReason.BAD_POSE, f"latitude {latitude}, longitude {longitude} is no place on Earth")
    if latitude == longitude == 0.0:
        raise DropError(DropReason.NO_POSE, "neither latitude nor longitude is set")
    return datum.east_north_up(latitude, longitude, altitude)


def _numbers(value: Any, names: tuple[str, ...], least: int) -> tuple[float, ...]:
    """Return the named fields of a message, or the numbers of an array; after the `least`, 0 for what is missing."""
    if hasattr(value, names[0]):
        return tuple(float(getattr(value, name, 0.0)) for name in names)
    if not least <= len(value) <= len(names):
        raise DropError(DropReason.BAD_POSE, f"an array of {len(value)} numbers is not {', '.join(names)}")
    return (*map(float, value), *[0.0] * (len(names) - len(value)))


def pose_set(value: Any, *, origin_is_unset: bool) -> tuple[float, ...]:
    """Return the pose of a message with position and orientation, or of a box with center and size.

    All zero, the quaternion too, is unset. No rotation at the origin is what ROS 2 makes of an unset pose: of a box
    without a size it is taken for that, and of a pose if `origin_is_unset`.

    Raises:
        DropError: it is unset, or a number is not finite.
    """
    is_box = hasattr(value, "center")
    source = value.center if is_box else value
    result = pose(source.position, source.orientation)
    if any(result[:3]) or (is_box and any((value.size.x, value.size.y, value.size.z))):
        return result
    turn = result[3:]
    if not turn or ((is_box or origin_is_unset) and not any(turn[:3])):
        raise DropError(DropReason.NO_POSE, "neither position nor orientation is set")
    return result


def _quaternion(orientation: Any) -> tuple[float, ...]:
    parts = _numbers(orientation, ("x", "y", "z", "w"), least=4)
    length = math.hypot(*parts)
    return tuple(part / length for part in parts) if length != 0.0 else ()


def covariance(values: Sequence[float]) -> Matrix | None:
    """Return the block of the position, in m²; None if it is unset (all zero, first element negative) or not finite."""
    rows = _COVARIANCE_ROWS.get(len(values))
    if rows is None:
        return None
    block = [[float(values[index]) for index in row] for row in rows]
    numbers = [number for row in block for number in row]
    if not all(math.isfinite(number) for number in numbers) or not any(numbers) or numbers[0] < 0.0:
        return None
    first, second, third = ((row[0], row[1], row[2]) for row in block)
    return first, second, third


def size(value: Any) -> Size | None:
    """Return the edges of a box in metres; None if they are no size: not three, not finite, or not all above 0.

    Each is a message with x, y, z, or an array; what they are of is no worse for that.
    """
    try:
        return validation.size("size", _numbers(value, ("x", "y", "z"), least=3))
    except (DropError, InvalidFieldError):
        return None


def confidence(value: Any) -> float:
    """Return a confidence in [0, 1], rounded to the precision of a float32.

    Raises:
        DropError: it is NaN or lies outside.
    """
    number = float(scalar(value))
    if not -_SLACK <= number <= 1.0 + _SLACK:
        raise DropError(DropReason.BAD_CONFIDENCE, f"confidence {number} does not lie in 0 to 1")
    return round(min(max(number, 0.0), 1.0), 6)


def raw_bytes(value: Any) -> bytes:
    """Return the bytes of an array; rclpy's `byte[]` is a list of bytes of length one."""
    return b"".join(value) if isinstance(value, list) else bytes(value)


def put(context: dict[str, object], name: tuple[str, ...], value: object) -> None:
    """Put a value into nested objects, creating missing ones.

    Raises:
        DropError: something on the way is no object.
    """
    inner: object = context
    for part in name[:-1]:
        inner = inner.setdefault(part, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict):
        raise DropError(DropReason.BAD_CONTEXT, f"{'.'.join(name[:-1])} of the context is no object")
    inner[name[-1]] = value
