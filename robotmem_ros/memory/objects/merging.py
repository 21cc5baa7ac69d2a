"""Which objects turn out to be one: two within a radius that are hardly ever seen together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from ..geometry import Grid, Point, squared_distance
from ..storage import neighbour_rows
from ..storage.neighbour_rows import Neighbours
from ..storage.object_rows import ObjectRow
from .new_sighting import NewSighting
from .object_writer import ObjectWriter

_NEIGHBOURHOOD = 1.5
"""Of objects up to so many radii apart it is counted how often they are seen in one message."""
_CROWD = 24
"""Of so many neighbours at most, the nearest ones."""
_HARDLY = 0.25
"""Two objects within a radius that are seen together in a smaller share of cases are one."""


class Found(NamedTuple):
    """A sighting and the object it became."""

    one: NewSighting
    row: ObjectRow


def count_together(connection: sqlite3.Connection, found: Sequence[Found]) -> None:
    """Counts once more that the objects of one message that are near each other were seen together."""
    if len(found) < 2:
        return
    widest = max(entry.one.seen.radius for entry in found) * _NEIGHBOURHOOD
    places = {entry.row.memory_id: entry.row.position for entry in found}
    for one, other in sorted(_pairs(places, widest)):
        neighbour_rows.count(connection, one, other, Neighbours(together=1))


def merged(writer: ObjectWriter, found: Sequence[Found], unseen: Iterable[ObjectRow]) -> list[Found]:
    """What was found, where two objects turn out to be one, as that one; `unseen` are the others near what was seen."""
    left = sorted(unseen, key=lambda row: row.position)
    grid = Grid([row.position for row in left], max((one.seen.radius for one, _ in found), default=1.0))
    gone: set[int] = set()
    result = []
    for one, row in found:
        kept, radius = row, one.seen.radius
        for other in (left[index] for index in grid.around(row.position)):
            if other.memory_id not in gone and _are_one(writer.connection, kept, other, radius):
                gone.add(other.memory_id)
                kept = writer.merge(kept, other, one.new)
        result.append(Found(one, kept))
    return result


def _pairs(places: Mapping[int, Point], widest: float) -> set[tuple[int, int]]:
    """Ids of objects that are at most `widest` metres apart, the smaller one first; of each its nearest neighbours."""
    ids, points = list(places), list(places.values())
    grid = Grid(points, widest)
    pairs = set()
    for here, place in enumerate(points):
        squares = [(squared_distance(place, points[there]), there) for there in grid.around(place) if there != here]
        near = [pair for pair in squares if pair[0] <= widest * widest]
        for _, there in nsmallest(_CROWD, near):
            pairs.add((min(ids[here], ids[there]), max(ids[here], ids[there])))
    return pairs


def _are_one(connection: sqlite3.Connection, seen: ObjectRow, other: ObjectRow, radius: float) -> bool:
    if squared_distance(seen.position, other.position) > radius * radius:
        return False
    neighbour_rows.count(connection, seen.memory_id, other.memory_id, Neighbours(alone=1))
    known = neighbour_rows.find(connection, seen.memory_id, other.memory_id)
    fewer, more = sorted((seen.times_seen, other.times_seen))
    is_stray = fewer <= _HARDLY * more and known.together <= _HARDLY * known.alone
    return is_stray or known.together <= _HARDLY * fewer
