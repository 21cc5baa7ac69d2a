"""Writes memories that are about to go as JSON lines: one object a memory, with all that is known of it.

The lines are on disk before the memories are deleted. After a crash between the two, a memory stands there twice.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import RobotMemoryError
from ..storage import changes, sighting_rows

_PARSED = ("context", "perception_metadata")
_EVERY_SIGHTING = -1


class ExportError(RobotMemoryError):
    """What is about to go could not be written, and so stays."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"retention_export: {str(path)!r} cannot be written ({why}); until it can, nothing is removed")


def lines(connection: sqlite3.Connection, memory_ids: Sequence[int]) -> list[str]:
    """Memories as JSON, in the order of the ids; those that are gone are left out."""
    cursor = connection.execute(
        "SELECT * FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(memory_ids)),)
    )
    names = [column[0] for column in cursor.description]
    found = {row["id"]: row for row in (dict(zip(names, values, strict=True)) for values in cursor)}
    return [
        json.dumps(_whole(connection, found[memory_id]), ensure_ascii=False)
        for memory_id in memory_ids
        if memory_id in found
    ]


def append(path: Path, written: Sequence[str], *, database: Path) -> None:
    """Appends lines to a file for its owner alone; when this returns, they are on disk.

    Raises:
        ExportError: the file cannot be written, or is one of the database.
    """
    try:
        # What opens a file of SQLite and closes it takes away its locks, and what writes to it destroys it.
        if any(_is_same(path, Path(f"{database}{suffix}")) for suffix in ("", "-wal", "-shm")):
            raise ExportError(path, "it is the database")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in written)
            file.flush()
            os.fsync(file.fileno())
    except OSError as cause:
        raise ExportError(path, cause.strerror or str(cause)) from cause


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _whole(connection: sqlite3.Connection, row: dict[str, Any]) -> dict[str, Any]:
    memory_id = row["id"]
    for name in _PARSED:
        row[name] = None if row[name] is None else json.loads(row[name])
    if row["perception_data"] is not None:
        row["perception_data"] = base64.b64encode(row["perception_data"]).decode()
    tags = connection.execute("SELECT tag FROM memory_tags WHERE memory_id = ? ORDER BY tag", (memory_id,))
    row["tags"] = [tag for (tag,) in tags]
    sightings = sighting_rows.history(connection, memory_id, _EVERY_SIGHTING)
    row["sightings"] = [vars(sighting) for sighting in sightings]
    row["history"] = [vars(change) for change in changes.history(connection, memory_id)]
    return row
