"""Places, read from a request, and positions of memories in SQL.

Only positions of one space are compared: one field, in one frame of the current map.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import validation
from ..bounds import MAX_CONTEXT
from ..config.parameters import Parameters
from ..errors import FrameMismatchError, InvalidFieldError, did_you_mean
from ..storage import position_rows
from ..storage.position_rows import POSE_FIELD, context_field
from ..storage.snapshot import Snapshot
from .sql import Source, Sql

POSITION = POSE_FIELD
Point = tuple[float, ...]
"""x, y and perhaps z in metres."""
_NO_FIELDS = ("pose", "orientation", "x", "y", "z")
"""Names of which only `position` can be meant; a key in the context is `context.pose`."""


class Field(NamedTuple):
    """Which positions to compare: a field of memories in a frame of the current map."""

    located: str
    """Field of the request that names the frame, such as `near.target`."""
    name: str
    """`position`, or a path into the context."""
    frame_id: str
    map_id: str
    memory_frame: str


class Space(NamedTuple):
    """The space that positions are compared in; `id` is None when no memory has a position in it."""

    id: int | None
    other_frames: tuple[str, ...]
    """Other frames of the same map in which memories have this field: they are not compared."""


@dataclass(frozen=True)
class Place:
    """A point in metres, and how far from it; `max_distance` is inf when there is no limit."""

    field: Field
    target: Point
    max_distance: float = math.inf


def pose_field(argument: str, parameters: Parameters) -> Field:
    """Return the poses of memories in the memory frame of the current map."""
    return Field(argument, POSITION, parameters.memory_frame, parameters.map_id, parameters.memory_frame)


def parse_place(argument: str, value: object, parameters: Parameters) -> Place | None:
    """Read a place from its JSON object; None for an empty text.

    Raises:
        InvalidFieldError: it cannot be used.
    """
    fields = _object(argument, value, ("field", "target", "max_distance", "frame_id"), parameters)
    if fields is None:
        return None
    max_distance = fields.get("max_distance")
    return Place(
        _field(f"{argument}.target", fields, parameters),
        _point(f"{argument}.target", fields.get("target")),
        math.inf if max_distance is None else validation.number(f"{argument}.max_distance", max_distance, low=0.0),
    )


def parse_corners(argument: str, value: object, parameters: Parameters) -> tuple[Field, Point, Point] | None:
    """Read the two corners of a box from its JSON object; None for an empty text.

    Raises:
        InvalidFieldError: it cannot be used.
    """
    fields = _object(argument, value, ("field", "min_corner", "max_corner", "frame_id"), parameters)
    if fields is None:
        return None
    min_corner, max_corner = (_point(f"{argument}.{name}", fields.get(name)) for name in ("min_corner", "max_corner"))
    if len(min_corner) != len(max_corner) or any(low > high for low, high in zip(min_corner, max_corner, strict=True)):
        problem = f"must have as many numbers as min_corner, {list(min_corner)}, and none of them smaller"
        raise InvalidFieldError(f"{argument}.max_corner", list(max_corner), problem)
    return _field(f"{argument}.frame_id", fields, parameters), min_corner, max_corner


def find_space(snapshot: Snapshot, field: Field) -> Space:
    """Find the space of a field.

    Raises:
        FrameMismatchError: no memory has a position in the frame, and it is not the frame of the memory.
    """
    spaces = position_rows.spaces(snapshot, field.name, field.map_id)
    if field.frame_id not in spaces and field.frame_id != field.memory_frame:
        raise FrameMismatchError(field.located, field.frame_id, field.memory_frame)
    other_frames = tuple(frame for frame in spaces if frame != field.frame_id)
    return Space(spaces.get(field.frame_id), other_frames)


def unknown_positions(snapshot: Snapshot, field: Field) -> Iterable[str]:
    """Say that no memory has a field, and name near ones, or that its positions in other frames were not compared."""
    space = find_space(snapshot, field)
    if space.other_frames:
        yield f"positions in {', '.join(map(repr, space.other_frames))} were not compared"
    if space.id is not None:
        return
    fields = position_rows.fields(snapshot)
    if field.name not in fields:
        yield f"no memory has a {field.name!r}{did_you_mean(field.name, fields)}"


def within(place: Place, space: Space | Field) -> Sql:
    """Require a position in the space, near enough to the target."""
    if math.isinf(place.max_distance):
        number, arguments = _number(space)
        return Sql(f"EXISTS (SELECT 1 FROM positions WHERE memory_id = m.id AND space_id = {number})", arguments)
    squared, arguments = squared_distance(place.target)
    limits = (*arguments, greatest_square(place.max_distance))
    return position_condition(space, f"{squared} <= ?", limits, box_around(place, space, place.max_distance))


def squared_distance(target: Point) -> tuple[str, tuple[object, ...]]:
    """Return SQL for the squared distance of a row `p` with a position to a target, and its arguments."""
    x, y = target[:2]
    sql = "(p.x - ?) * (p.x - ?) + (p.y - ?) * (p.y - ?)"
    if len(target) == 2:
        return sql, (x, x, y, y)
    z = target[2]
    return f"{sql} + CASE WHEN p.z IS NULL THEN 0 ELSE (p.z - ?) * (p.z - ?) END", (x, x, y, y, z, z)


def box_around(place: Place, space: Space | Field, radius: float) -> Source:
    """Return the positions in a box around a place, and perhaps some beside it, by the R*Tree."""
    x, y = place.target[:2]
    return overlapping(space, (x - radius, x + radius, y - radius, y + radius))


def position_condition(space: Space | Field, test: str, arguments: tuple[object, ...], box: Source) -> Sql:
    """Require a position `p` in the space that a test holds for; all of these lie in the box."""
    number, space_arguments = _number(space)
    return Sql(
        f"EXISTS (SELECT 1 FROM positions AS p WHERE p.memory_id = m.id AND p.space_id = {number} AND {test})",
        (*space_arguments, *arguments),
        Source(
            f"SELECT p.memory_id AS id FROM ({box.sql}) AS b CROSS JOIN positions AS p ON p.id = b.id WHERE {test}",
            (*box.arguments, *arguments),
        ),
    )


def overlapping(space: Space | Field, limits: Sequence[float]) -> Source:
    """Return the positions between limits, low and high x, low and high y, and perhaps some beside them."""
    # The tree keeps 32-bit floats, rounded outwards; the margin covers the rounding of the limits themselves.
    low_x, high_x, low_y, high_y = limits[:4]
    margin = 1e-9 * (1 + max(high_x - low_x, high_y - low_y, *map(abs, limits[:4])))
    # A space reaches a quarter to both sides of its number.
    number, arguments = _number(space)
    overlaps = f"space0 >= {number} - 0.5 AND space1 <= {number} + 0.5 AND x1 >= ? AND x0 <= ? AND y1 >= ? AND y0 <= ?"
    around = (low_x - margin, high_x + margin, low_y - margin, high_y + margin)
    return Source(f"SELECT id FROM positions_rtree WHERE {overlaps}", (*arguments, *arguments, *around))


def greatest_square(radius: float) -> float:
    """Return the greatest number whose root is at most a radius, so that the same memories are near enough always."""
    square = radius * radius
    while math.sqrt(square) > radius:
        square = math.nextafter(square, 0.0)
    while math.sqrt(greater := math.nextafter(square, math.inf)) <= radius:
        square = greater
    return square


def _number(space: Space | Field) -> tuple[str, tuple[object, ...]]:
    # The number of a space in SQL, which a statement reads once; that of no space if no memory has a position there.
    if isinstance(space, Space):
        return "?", (space.id or 0,)
    query = "SELECT id FROM spaces WHERE field = ? AND frame_id = ? AND map_id = ?"
    return f"coalesce(({query}), -1)", (space.name, space.frame_id, space.map_id)


def _object(argument: str, value: object, names: Sequence[str], parameters: Parameters) -> Mapping[str, object] | None:
    if isinstance(value, str):
        value = validation.json_object(argument, value, limit=MAX_CONTEXT) or None
    if value is None:
        return None
    if not isinstance(value, Mapping):
        field_names = ", ".join(f"`{name}`" for name in names[:-2])
        raise InvalidFieldError(argument, value, f"must be an object with {field_names} and `{names[-2]}`")
    unknown = set(value) - set(names)
    if unknown:
        choices = f"{', '.join(names[:-1])} and {names[-1]}"
        raise InvalidFieldError(argument, sorted(map(str, unknown)), f"is unknown; there are {choices}")
    return value


def _field(located: str, fields: Mapping[str, object], parameters: Parameters) -> Field:
    argument = located.partition(".")[0]
    name = validation.name(f"{argument}.field", fields.get("field"), default=POSITION)
    if not all(name.split(".")) or name in _NO_FIELDS:
        problem = "must be `position` or a path into the context, such as spatial.object_position"
        raise InvalidFieldError(f"{argument}.field", name, problem)
    if name != POSITION:
        name = context_field(name.removeprefix("context."))
    frame_id = validation.frame(f"{argument}.frame_id", fields.get("frame_id"), default=parameters.memory_frame)
    return Field(located, name, frame_id, parameters.map_id, parameters.memory_frame)


def _point(name: str, value: object) -> Point:
    return validation.coordinates(name, value)
