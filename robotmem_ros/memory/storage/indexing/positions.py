"""The positions of memories, for the R*Tree."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...models import NewMemory
from .. import bulk

POSE_FIELD = "position"
"""The field of the pose of a memory."""
_Space = tuple[str, str, str]
_Point = tuple[float, float, float | None]


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]], contexts: Sequence[object]) -> None:
    """Add the poses of memories and the points of their contexts to the spatial index."""
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


@lru_cache(maxsize=8)  # triggers need the same context several times
def context_positions(context: str) -> str:
    """Return the arrays of two or three numbers of a context, by field, as a JSON object."""
    return json.dumps(dict(points(json.loads(context))))


def points(context: object) -> list[tuple[str, list[float]]]:
    """Return the arrays of two or three numbers of a context, with their fields."""
    return [(context_field(path), point) for path, point in _arrays(context, "")] if isinstance(context, dict) else []


def context_field(path: str) -> str:
    """Return the field of a dot path into the context: the path, unless that means the pose or another path."""
    return f"context.{path}" if path == POSE_FIELD or path.startswith("context.") else path


def _fields(new: NewMemory, context: object) -> Iterator[tuple[str, _Point]]:
    if new.pose is not None:
        yield POSE_FIELD, (new.pose.x, new.pose.y, new.pose.z)
    for path, point in points(context):
        yield path, (point[0], point[1], point[2] if len(point) > 2 else None)


def _space_id(connection: sqlite3.Connection, space: _Space) -> int:
    find = "SELECT id FROM spaces WHERE (field, frame_id, map_id) = (?, ?, ?)"
    found = connection.execute(find, space).fetchone()
    if found is None:
        connection.execute("INSERT INTO spaces (field, frame_id, map_id) VALUES (?, ?, ?)", space)
        found = connection.execute(find, space).fetchone()
    return int(found[0])


def _arrays(value: dict[str, object], path: str) -> Iterator[tuple[str, list[float]]]:
    for name, item in value.items():
        if not name or "." in name:
            continue
        if isinstance(item, dict):
            yield from _arrays(item, f"{path}{name}.")
        elif isinstance(item, list) and len(item) in (2, 3) and all(_is_number(part) for part in item):
            yield f"{path}{name}", [float(part) for part in item]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
