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

import numpy as np

from .candidates import Candidates
from .condition import Source
from .places import Place, Space, box_around, squared_distance
from .result import Hit, Ranking

_FIRST_RADIUS = 0.25
_LAST_RADIUS = 64.0
_FETCHED = 256


def nearest(connection: sqlite3.Connection, candidates: Candidates, place: Place, space: Space, n: int) -> Ranking:
    """Find the `n` candidates nearest to the target, with their distance in metres; equals stand newest first."""
    if space.id is None:
        return []
    check = Source("1", ()) if candidates.ids is not None else candidates.check()
    radius = place.max_distance if candidates.ids is not None else _FIRST_RADIUS
    while radius < min(place.max_distance, _LAST_RADIUS):
        ranking = _within_radius(connection, candidates, check, place, space, radius=radius, n=n)
        if len(ranking) == n:
            return ranking
        # As far as it takes where the others lie as close together as those that were found.
        radius *= min(max(math.sqrt(1.5 * n / max(len(ranking), 1)), 1.5), 4.0)
    return _within_radius(connection, candidates, check, place, space, radius=place.max_distance, n=n)


def _within_radius(
    connection: sqlite3.Connection,
    candidates: Candidates,
    check: Source,
    place: Place,
    space: Space,
    *,
    radius: float,
    n: int,
) -> Ranking:
    squared, square_arguments = squared_distance(place.target)
    if candidates.ids is not None:
        source = "json_each(?) AS j CROSS JOIN positions AS p ON p.memory_id = j.value"
        source_arguments: tuple[object, ...] = (candidates.ids_json(),)
    elif math.isinf(radius):
        source, source_arguments = "positions AS p", ()
    else:
        box, source_arguments, _ = box_around(place, space, radius)
        source = f"({box}) AS b CROSS JOIN positions AS p ON p.id = b.id"
    rows = connection.execute(
        f"SELECT p.memory_id, {squared} AS squared FROM {source} WHERE p.space_id = ? ORDER BY squared",
        (*square_arguments, *source_arguments, space.id),
    )
    nearest_first = rows if candidates.superset is None else _possible(rows, candidates)
    # In order of distance, so that the conditions are checked of few, however many the box holds.
    found: list[tuple[float, int, int]] = []
    for batch in _growing_batches(nearest_first, n):
        found += _candidates_of(connection, check, dict(batch))
        if len(found) >= n:
            break
    rows.close()
    found.sort()
    hits = (Hit(-negative_id, math.sqrt(square)) for square, _, negative_id in found[:n])
    return [hit for hit in hits if hit.measure <= radius]


def _candidates_of(
    connection: sqlite3.Connection, check: Source, squares: Mapping[int, float]
) -> list[tuple[float, int, int]]:
    # What orders them: squared distance, newest first, last stored first.
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
