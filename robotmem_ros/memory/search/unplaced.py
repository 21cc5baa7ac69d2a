"""What a spatial sort leaves out: memories that match, but whose position is elsewhere or was never known."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from ..nearest import did_you_mean
from ..storage import bulk
from .eligible import Eligible
from .question import SpatialSort
from .spatial_sort import Space

FEW, MANY = 32, 2000
"""So many memories are looked at: few if the answer has as many as were asked for, many if it has fewer."""
_ELSEWHERE = """
    SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    WHERE NOT EXISTS (SELECT 1 FROM positions AS p WHERE p.memory_id = m.id AND p.space_id = ?) AND {check}
"""
_PLACES = """
    SELECT s.frame_id, s.map_id, count(*) FROM json_each(?) AS j LEFT JOIN spaces AS s ON s.id = (
        SELECT p.space_id FROM positions AS p
        WHERE p.memory_id = j.value AND p.space_id IN (SELECT id FROM spaces WHERE field = ?)
    ) GROUP BY s.id ORDER BY s.id
"""


def unknown_field(connection: sqlite3.Connection, spatial: SpatialSort) -> str:
    """Say that no memory has the field of a spatial sort, and name near ones; empty if one has."""
    fields = [field for (field,) in connection.execute("SELECT DISTINCT field FROM spaces")]
    return "" if spatial.field in fields else f"no memory has a {spatial.field!r}{did_you_mean(spatial.field, fields)}"


def unplaced(
    connection: sqlite3.Connection, ids: Sequence[int], eligible: Eligible, spatial: SpatialSort, space: Space
) -> Iterator[tuple[int, str]]:
    """Count those of some memories that are eligible but have no position in a space, by where their position is."""
    check = eligible.check()
    arguments = (json.dumps(ids), space.id or 0, *check.arguments)
    elsewhere = bulk.ids(connection, _ELSEWHERE.format(check=check.sql), arguments)
    places = connection.execute(_PLACES, (json.dumps(elsewhere), spatial.field)) if elsewhere else ()
    for frame, in_map, count in places:
        if frame is None:
            yield count, f"no {spatial.field!r}"
        else:
            yield count, f"a {spatial.field!r} in frame {frame!r}{f' of map {in_map!r}' if in_map else ''}"


def told(count: int, what: str, *, is_all: bool) -> str:
    """Say how many memories match and have something instead of the position asked for."""
    verb = "memory matches but has" if count == 1 else "memories match but have"
    return f"{'' if is_all else 'at least '}{count} {verb} {what}"
