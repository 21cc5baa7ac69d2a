"""Which objects turn out to be one: two within a radius that are hardly ever seen together."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..database import neighbour_rows
from ..database.neighbour_rows import Neighbours
from ..database.object_rows import ObjectRow
from .geometry import squared_distance
from .new_sighting import NewSighting
from .upkeep import Upkeep

_NEIGHBOURHOOD = 1.5
"""Of objects up to so many radii apart it is counted how often they are seen in one message."""
_CROWD = 24
"""Of so many neighbours at most."""
_HARDLY = 0.25
"""Two objects within a radius that are seen together in a smaller share of cases are one."""


class Found(NamedTuple):
    """A sighting and the object it became."""

    one: NewSighting
    row: ObjectRow


def count_together(connection: sqlite3.Connection, found: Sequence[Found]) -> None:
    """Counts once more that the objects of one message that are near each other were seen together."""
    by_place = sorted(found, key=lambda entry: entry.row.position)
    widest = max((entry.one.seen.radius for entry in found), default=0.0) * _NEIGHBOURHOOD
    for index, (_, row) in enumerate(by_place):
        for _, other in by_place[index + 1 : index + 1 + _CROWD]:
            if other.position[0] - row.position[0] > widest:
                break
            if squared_distance(row.position, other.position) <= widest * widest:
                both = Neighbours(together=1)
                neighbour_rows.count(connection, row.memory_id, other.memory_id, both)


def merged(
    connection: sqlite3.Connection, upkeep: Upkeep, found: Sequence[Found], unseen: Iterable[ObjectRow]
) -> list[Found]:
    """What was found, where two objects turn out to be one, as that one; `unseen` are the others near what was seen."""
    left = sorted(unseen, key=lambda row: row.position)
    across = [row.position[0] for row in left]
    gone: set[int] = set()
    result = []
    for one, row in found:
        kept, radius = row, one.seen.radius
        x = row.position[0]
        for other in left[bisect_left(across, x - radius) : bisect_right(across, x + radius)]:
            if other.memory_id not in gone and _are_one(connection, kept, other, radius):
                gone.add(other.memory_id)
                kept = upkeep.merge(kept, other, one.new)
        result.append(Found(one, kept))
    return result


def _are_one(connection: sqlite3.Connection, seen: ObjectRow, other: ObjectRow, radius: float) -> bool:
    if squared_distance(seen.position, other.position) > radius * radius:
        return False
    neighbour_rows.count(connection, seen.memory_id, other.memory_id, Neighbours(alone=1))
    known = neighbour_rows.find(connection, seen.memory_id, other.memory_id)
    fewer, more = sorted((seen.times_seen, other.times_seen))
    is_stray = fewer <= _HARDLY * more and known.together <= _HARDLY * known.alone
    return is_stray or known.together <= _HARDLY * fewer
