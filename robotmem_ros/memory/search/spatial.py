"""Find the candidates nearest to a target, exactly, in its frame and map.

Without a narrow condition the R*Tree is searched in boxes that grow until they hold enough; what lies outside of a box
of half-width r is farther than r.
"""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..errors import FrameMismatchError
from .candidates import Candidates
from .condition import Condition, Source
from .query import SpatialSort
from .result import Hit, Ranking

_FIRST_RADIUS = 0.25
_LAST_RADIUS = 64.0
_FETCHED = 256


class Space(NamedTuple):
    """The space a target lies in; `id` is None when no memory has a position in it."""

    id: int | None
    others: tuple[str, ...]
    """Other frames of the same map in which memories have this field: they are not compared."""


def find_space(connection: sqlite3.Connection, spatial: SpatialSort, map_id: str, memory_frame: str) -> Space:
    """Find the space of a spatial sort.

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
    """Require a position in the space, near enough to the target."""
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


def nearest(
    connection: sqlite3.Connection, candidates: Candidates, spatial: SpatialSort, space: Space, n: int
) -> Ranking:
    """Find the `n` candidates nearest to the target, with their distance in metres; equals stand newest first."""
    if space.id is None:
        return []
    radius = spatial.max_distance if candidates.ids is not None else _FIRST_RADIUS
    while radius < min(spatial.max_distance, _LAST_RADIUS):
        ranking = _within_radius(connection, candidates, spatial, space, radius=radius, n=n)
        if len(ranking) == n:
            return ranking
        # As far as it takes where the others lie as close together as those that were found.
        radius *= min(max(math.sqrt(1.5 * n / max(len(ranking), 1)), 1.5), 4.0)
    return _within_radius(connection, candidates, spatial, space, radius=spatial.max_distance, n=n)


def _within_radius(
    connection: sqlite3.Connection, candidates: Candidates, spatial: SpatialSort, space: Space, *, radius: float, n: int
) -> Ranking:
    squared, square_arguments = _squared_distance(spatial.target)
    if candidates.ids is not None:
        source = "json_each(?) AS j CROSS JOIN positions AS p ON p.memory_id = j.value"
        source_arguments: tuple[object, ...] = (candidates.ids_json(),)
    elif math.isinf(radius):
        source, source_arguments = "positions AS p", ()
    else:
        box, source_arguments = _box(spatial, space, radius)
        source = f"({box}) AS b CROSS JOIN positions AS p ON p.id = b.id"
    rows = connection.execute(
        f"SELECT p.memory_id, {squared} AS squared FROM {source} WHERE p.space_id = ? ORDER BY squared",
        (*square_arguments, *source_arguments, space.id),
    )
    nearest_first = rows if candidates.superset is None else _possible(rows, candidates)
    # In order of distance, so that the conditions are checked of few, however many the box holds.
    found: list[tuple[float, int, int]] = []
    for batch in _growing_batches(nearest_first, n):
        found += _candidates_of(connection, candidates, dict(batch))
        if len(found) >= n:
            break
    rows.close()
    found.sort()
    hits = (Hit(-negative_id, math.sqrt(square)) for square, _, negative_id in found[:n])
    return [hit for hit in hits if hit.measure <= radius]


def _candidates_of(
    connection: sqlite3.Connection, candidates: Candidates, squares: Mapping[int, float]
) -> list[tuple[float, int, int]]:
    # What orders them: squared distance, newest first, last stored first.
    check = Source("1", ()) if candidates.ids is not None else candidates.check()
    rows = connection.execute(
        "SELECT m.id, m.observed_at FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value "
        f"WHERE {check.sql}",
        (json.dumps(list(squares)), *check.arguments),
    )
    return [(squares[memory_id], -observed_at, -memory_id) for memory_id, observed_at in rows]


def _possible(rows: sqlite3.Cursor, candidates: Candidates) -> Iterator[tuple[int, float]]:
    while batch := rows.fetchmany(_FETCHED):
        yield from itertools.compress(
            batch, candidates.may_contain(np.array([memory_id for memory_id, _ in batch], np.int64))
        )


def _growing_batches(rows: Iterable[tuple[int, float]], n: int) -> Iterator[list[tuple[int, float]]]:
    # What is equally far stands in one batch.
    batch: list[tuple[int, float]] = []
    size = 4 * n
    for row in rows:
        if len(batch) >= size and row[1] > batch[-1][1]:
            yield batch
            batch, size = [], 2 * size
        batch.append(row)
    yield batch


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
    # A space reaches a quarter to both sides of its number.
    least, most = (space.id or 0) - 0.5, (space.id or 0) + 0.5
    overlaps = "space0 >= ? AND space1 <= ? AND x1 >= ? AND x0 <= ? AND y1 >= ? AND y0 <= ?"
    sql = f"SELECT id FROM positions_rtree WHERE {overlaps}"
    return sql, (least, most, x - reach, x + reach, y - reach, y + reach)
