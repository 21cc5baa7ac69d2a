"""Read positions in the order of their distance from a place."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator

from ..conditions.places import Place, Space, box_around, squared_distance
from ..conditions.sql import Source
from .candidates import Candidates
from .snapshot import Snapshot, json_array

_FETCHED = 256


def by_distance(
    snapshot: Snapshot, candidates: Candidates, place: Place, space: Space, radius: float
) -> Generator[list[tuple[int, float]], None, None]:
    """Yield memories with their squared distance from a place, nearest first, in batches.

    They are the candidates if these are listed and need no test, and otherwise the memories in a box around the place,
    a radius from it to each side. The caller must close an unfinished generator.
    """
    squared, square_arguments = squared_distance(place.target)
    positions, arguments, _ = _positions(candidates, place, space, radius)
    return snapshot.batches(
        f"SELECT p.memory_id, {squared} AS squared FROM {positions} WHERE p.space_id = ? ORDER BY squared",
        (*square_arguments, *arguments, space.id),
        _FETCHED,
    )


def observed_at(snapshot: Snapshot, candidates: Candidates, ids: Collection[int]) -> list[tuple[int, int]]:
    """Return those of some memories that are candidates, with the times of their observation in nanoseconds."""
    check, listed_ids = candidates.check, Candidates(ids=candidates.ids).filter(snapshot, ids)
    return snapshot.rows(
        "SELECT m.id, m.observed_at FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value "
        f"WHERE {check.sql}",
        (json_array(listed_ids), *check.arguments),
    )


def _positions(candidates: Candidates, place: Place, space: Space, radius: float) -> Source:
    if candidates.ids is not None and not candidates.conditions:
        ids = json_array(candidates.ids)
        return Source("json_each(?) AS j CROSS JOIN positions AS p ON p.memory_id = j.value", (ids,))
    if math.isinf(radius):
        return Source("positions AS p", ())
    box = box_around(place, space, radius)
    return Source(f"({box.sql}) AS b CROSS JOIN positions AS p ON p.id = b.id", box.arguments)
