"""Places and the spaces that they lie in, as values and in SQL.

Only positions of one space are compared: one field, in one frame of the current map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .sql import Source, Sql

POSITION = "position"
"""The field of the pose of a memory."""
POSE_NAMES = (POSITION, "pose", "orientation", "x", "y", "z")
"""Names of which only `position` can be meant; a key in the context is `context.pose`."""
AREA_PATH = "spatial.area"
"""The path into the context of the name of the area that a memory lies in."""
Point = tuple[float, ...]
"""x, y and perhaps z in metres."""


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


def context_field(path: str) -> str:
    """Return the field of a dot path into the context: the path, unless that means the pose or another path."""
    return f"context.{path}" if path in POSE_NAMES or path.startswith("context.") else path


def within(place: Place) -> Sql:
    """Require a position in the field, near enough to the target."""
    if math.isinf(place.max_distance):
        number, arguments = _number(place.field)
        return Sql(f"EXISTS (SELECT 1 FROM positions WHERE memory_id = m.id AND space_id = {number})", arguments)
    squared, arguments = squared_distance(place.target)
    limits = (*arguments, greatest_square(place.max_distance))
    box = box_around(place, place.field, place.max_distance)
    return position_condition(place.field, f"{squared} <= ?", limits, box)


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


def position_condition(field: Field, test: str, arguments: tuple[object, ...], box: Source) -> Sql:
    """Require a position `p` in the field that a test holds for; all of these lie in the box."""
    number, field_arguments = _number(field)
    return Sql(
        f"EXISTS (SELECT 1 FROM positions AS p WHERE p.memory_id = m.id AND p.space_id = {number} AND {test})",
        (*field_arguments, *arguments),
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
