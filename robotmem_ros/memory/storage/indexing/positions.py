"""The positions of new memories, for the R*Tree."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from ...models import NewMemory
from .. import bulk
from ..context_values import points

_Space = tuple[str, str, str]
_Point = tuple[float, float, float | None]


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]], contexts: Sequence[object]) -> None:
    """Adds the poses of memories and the points of their contexts to the spatial index."""
    found = [
        (memory_id, (field, new.frame_id, new.map_id), point)
        for (memory_id, new), context in zip(added, contexts, strict=True)
        for field, point in _fields(new, context)
    ]
    if not found:
        return
    ids = {space: _space_id(connection, space) for space in {space for _, space, _ in found}}
    rows = [(memory_id, ids[space], *point) for memory_id, space, point in found]
    bulk.insert(connection, "positions (memory_id, space_id, x, y, z)", "(?, ?, ?, ?, ?)", rows)


def _fields(new: NewMemory, context: object) -> Iterator[tuple[str, _Point]]:
    if new.pose is not None:
        yield "position", (new.pose.x, new.pose.y, new.pose.z)
    for path, point in points(context):
        yield path, (point[0], point[1], point[2] if len(point) > 2 else None)


def _space_id(connection: sqlite3.Connection, space: _Space) -> int:
    find = "SELECT id FROM spaces WHERE (field, frame_id, map_id) = (?, ?, ?)"
    found = connection.execute(find, space).fetchone()
    if found is None:
        connection.execute("INSERT INTO spaces (field, frame_id, map_id) VALUES (?, ?, ?)", space)
        found = connection.execute(find, space).fetchone()
    return int(found[0])
