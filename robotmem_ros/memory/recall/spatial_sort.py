"""Stage 8, spatial sort: the eligible memories nearest to a target, exactly, in the target's frame and map.

Without a narrow condition the R*Tree is searched in boxes that grow until they hold enough; what lies outside of a box
of half-width r is farther than r.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import FrameMismatchError
from .condition import Condition, Source
from .eligible import Eligible
from .question import SpatialSort
from .ranking import Hit, Ranking

_FIRST_RADIUS = 1.0
_LAST_RADIUS = 64.0


class Space(NamedTuple):
    """The space a target lies in; `id` is None when no memory has a position in it."""

    id: int | None
    others: tuple[str, ...]
    """Other frames of the same map in which memories have this field: they are not compared."""


def find_space(connection: sqlite3.Connection, spatial: SpatialSort, map_id: str, memory_frame: str) -> Space:
    """The space of a spatial sort.

    Raises:
        FrameMismatchError: no memory has a position in the target's frame, and it is not the frame of the memory.
    """
    rows = connection.execute(
        "SELECT frame_id, id FROM spaces WHERE field = ? AND map_id = ? ORDER BY frame_id", (spatial.field, map_id)
    )
    spaces = dict(rows.fetchall())
    if spatial.frame_id not in spaces and spatial.frame_id != memory_frame:
        raise FrameMismatchError(spatial.frame_id, memory_frame)
    others = tuple(frame for frame in spaces if frame != spatial.frame_id)
    return Space(spaces.get(spatial.frame_id), others)


def within(spatial: SpatialSort, space: Space) -> Condition:
    """The memories that have a position in the space, near enough to the target."""
    if math.isinf(spatial.max_distance):
        return Condition("EXISTS (SELECT 1 FROM positions WHERE memory_id = m.id AND space_id = ?)", (space.id,))
    squared, square_arguments = _squared_distance(spatial.target)
    near_enough = f"{squared} <= ?"
    limits = (*square_arguments, _greatest_square(spatial.max_distance))
    box, box_arguments = _box(spatial, space, spatial.max_distance)
    return Condition(
        f"EXISTS (SELECT 1 FROM positions AS p WHERE p.memory_id = m.id AND p.space_id = ? AND {near_enough})",
        (space.id, *limits),
        Source(
            f"SELECT p.memory_id AS id FROM ({box}) AS b CROSS JOIN positions AS p ON p.id = b.id WHERE {near_enough}",
            (*box_arguments, *limits),
        ),
    )


def nearest(connection: sqlite3.Connection, eligible: Eligible, spatial: SpatialSort, space: Space, n: int) -> Ranking:
    """The `n` eligible memories nearest to the target, with their distance in metres; equals stand newest first."""
    if space.id is None:
        return []
    ranking: Ranking = []
    radii = [spatial.max_distance] if eligible.ids is not None else _radii(spatial.max_distance)
    for radius in radii:
        ranking = _within_radius(connection, eligible, spatial, space, radius=radius, n=n)
        if len(ranking) == n:
            break
    return ranking


def _radii(max_distance: float) -> Iterator[float]:
    radius = _FIRST_RADIUS
    while radius < min(max_distance, _LAST_RADIUS):
        yield radius
        radius *= 4
    yield max_distance


def _within_radius(
    connection: sqlite3.Connection, eligible: Eligible, spatial: SpatialSort, space: Space, *, radius: float, n: int
) -> Ranking:
    squared, square_arguments = _squared_distance(spatial.target)
    check = eligible.check()
    if eligible.ids is not None:
        source = "json_each(?) AS j CROSS JOIN positions AS p ON p.memory_id = j.value"
        source_arguments: tuple[object, ...] = (eligible.ids_json(),)
        check = Source("1", ())
    elif math.isinf(radius):
        source, source_arguments = "positions AS p", ()
    else:
        box, source_arguments = _box(spatial, space, radius)
        source = f"({box}) AS b CROSS JOIN positions AS p ON p.id = b.id"
    rows = connection.execute(
        f"SELECT m.id, {squared} AS squared FROM {source} CROSS JOIN memories AS m ON m.id = p.memory_id "
        f"WHERE p.space_id = ? AND {check.sql} ORDER BY squared, m.observed_at DESC, m.id DESC LIMIT ?",
        (*square_arguments, *source_arguments, space.id, *check.arguments, n),
    )
    hits = (Hit(memory_id, math.sqrt(distance_squared)) for memory_id, distance_squared in rows)
    return [hit for hit in hits if hit.measure <= radius]


def _squared_distance(target: tuple[float, ...]) -> tuple[str, tuple[object, ...]]:
    x, y = target[:2]
    sql = "(p.x - ?) * (p.x - ?) + (p.y - ?) * (p.y - ?)"
    if len(target) == 2:
        return sql, (x, x, y, y)
    z = target[2]
    return f"{sql} + CASE WHEN p.z IS NULL THEN 0 ELSE (p.z - ?) * (p.z - ?) END", (x, x, y, y, z, z)


def _greatest_square(radius: float) -> float:
    # The greatest number whose root is at most the radius, so that the same memories are near enough everywhere.
    square = radius * radius
    while math.sqrt(square) > radius:
        square = math.nextafter(square, 0.0)
    while math.sqrt(greater := math.nextafter(square, math.inf)) <= radius:
        square = greater
    return square


def _box(spatial: SpatialSort, space: Space, radius: float) -> tuple[str, tuple[object, ...]]:
    # The tree keeps 32-bit floats, rounded outwards; the margin covers the rounding of the limits themselves.
    x, y = spatial.target[:2]
    reach = radius * (1 + 1e-9) + 1e-9
    overlaps = "space0 >= ? AND space1 <= ? + 0.5 AND x1 >= ? AND x0 <= ? AND y1 >= ? AND y0 <= ?"
    sql = f"SELECT id FROM positions_rtree WHERE {overlaps}"
    return sql, (space.id, space.id, x - reach, x + reach, y - reach, y + reach)
