"""Carry memories from one file to another, also from before the first release: export, import."""

from __future__ import annotations

import argparse
import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from ..memory.errors import MALFORMED, InvalidFieldError, StorageError
from ..memory.maps import Move, OccupancyGrid, Origin, PathPart, check_moves
from ..memory.maps.occupancy_grid import check_size
from ..memory.models import Kind, NewMemory, Pose
from ..memory.new_file import new_file
from ..memory.new_memory import LEFT_TO_RULES
from ..memory.retention.export import lines
from ..memory.robot_memory import RobotMemory
from ..memory.storage import map_rows, path_rows, rows
from ..memory.storage.connection import resolve
from ..memory.storage.migrations import exportable
from ..memory.storage.retention_rows import active_ids
from ..memory.validation import check_coordinates, compact_json
from .command import DATABASE, Command, opened, option
from .output import write_result

_MAP, _PATH = "map", "path"
"""Types of lines that hold no memory."""
_POINTS = 500
"""Points of the path in one line."""


def _export(arguments: argparse.Namespace) -> None:
    path = resolve(arguments.db)
    written = 0
    try:
        with exportable(path) as connection, new_file(arguments.file, mode=0o600) as file:
            active = active_ids(connection)
            for start in range(0, len(active), 256):
                some = lines(connection, active[start : start + 256])
                file.writelines(f"{line}\n".encode() for line in some)
                written += len(some)
            file.writelines(f"{line}\n".encode() for line in _place_lines(connection))
    except OSError as cause:
        raise InvalidFieldError("FILE.jsonl", arguments.file, f"cannot be written ({cause.strerror})") from cause
    except (sqlite3.DatabaseError, *MALFORMED) as cause:
        raise StorageError(f"export {str(path)!r}", cause) from cause
    write_result(f"exported: {written} memories\n")


def _backup(arguments: argparse.Namespace) -> None:
    with opened(arguments.db, read_only=True) as memory:
        copy = memory.backup(arguments.file)
        memories = memory.status().memories
    write_result(f"copied: {memories} memories into {copy}\n")


def _import(arguments: argparse.Namespace) -> None:
    stored = 0
    memories = _read(arguments.file)
    # A file that cannot be read makes no database.
    first = next(memories, None)
    with RobotMemory(arguments.db, embedding_model="", session_maintenance=False) as memory:
        for new in chain(() if first is None else (first,), memories):
            if isinstance(new, _Place):
                _store_place(memory, new)
                continue
            if new.kind is Kind.FACT:
                memory.learn_fact(new)
            else:
                memory.store(new).result()
            stored += 1
    write_result(f"imported: {stored} memories\n")


def _read(path: Path) -> Iterator[NewMemory | _Place]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield _parsed(line, f"line {number} of {path}")
    except OSError as cause:
        raise InvalidFieldError("FILE.jsonl", path, f"cannot be read ({cause.strerror})") from cause
    except UnicodeDecodeError as cause:
        raise InvalidFieldError("FILE.jsonl", path, "is no UTF-8 text") from cause


def _parsed(line: str, where: str) -> NewMemory | _Place:
    try:
        row = json.loads(line)
        return _Place.read(row) if row["type"] in (_MAP, _PATH) else _new(row)
    except (KeyError, TypeError, ValueError) as cause:
        raise InvalidFieldError(where, line, "was not written by `robotmem export`") from cause


def _new(row: dict[str, Any]) -> NewMemory:
    if row["type"] == Kind.NOTE.value:
        raise ValueError("a note is read from its file")
    data, metadata = row["perception_data"], row["perception_metadata"]
    columns: dict[str, Any] = {name: row[name] for name in rows.COLUMNS if name in row}
    columns["context"] = compact_json(row["context"])
    columns["perception_data"] = None if data is None else base64.b64decode(data)
    columns["perception_metadata"] = None if metadata is None else compact_json(metadata)
    return NewMemory(
        **columns,
        kind=Kind(row["type"]),
        pose=None if row["x"] is None else _pose(row),
        tags=tuple(row["tags"]),
        given=frozenset(name for name in LEFT_TO_RULES if row[name]),
    )


def _place_lines(connection: sqlite3.Connection) -> list[str]:
    """Return the maps and the path as JSON, one map or many points a line."""
    grids = map_rows.rows(connection)
    points = path_rows.rows(connection)
    parts = [points[start : start + _POINTS] for start in range(0, len(points), _POINTS)]
    of_maps = [{"type": _MAP, **grid, **{name: _text(grid[name]) for name in ("digest", "cells")}} for grid in grids]
    return [json.dumps(row, ensure_ascii=False) for row in (*of_maps, *({"type": _PATH, "points": p} for p in parts))]


@dataclass(frozen=True)
class _Place:
    """What a line holds: a map or a part of the path."""

    collection: str = ""
    """Of the map."""
    grid: OccupancyGrid | None = None
    parts: tuple[PathPart, ...] = ()

    @classmethod
    def read(cls, row: dict[str, Any]) -> _Place:
        """Read what `lines` wrote.

        Raises:
            KeyError: something is missing; or TypeError, ValueError.
            InvalidFieldError: a map cannot be used.
        """
        if row["type"] == _MAP:
            return cls(collection=str(row["collection"]), grid=_grid(row))
        names = ("frame_id", "map_id", "collection", "session_id")
        parts = []
        for (frame_id, map_id, collection, session_id), points in groupby(
            row["points"], key=lambda point: [str(point[name]) for name in names]
        ):
            moves = tuple(_move(point) for point in points)
            parts.append(PathPart(moves, frame_id, map_id, collection, session_id=session_id))
        return cls(parts=tuple(parts))


def _pose(row: dict[str, Any]) -> Pose:
    pose = Pose(*(row[axis] for axis in Pose._fields))
    check_coordinates("pose", pose[:3])
    return pose


def _store_place(memory: RobotMemory, place: _Place) -> None:
    """Store a map or points of the path; a map that was observed later stays, and so does a point of the same time."""
    if place.grid is not None:
        changes = {"memory_frame": place.grid.frame_id, "collection": place.collection}
        memory.parameters = memory.parameters.changed(**changes)
        memory.store_map(place.grid, keeps_newer=True).result()
    for part in place.parts:
        memory.store_path(part).result()


def _grid(row: dict[str, Any]) -> OccupancyGrid:
    check_size(row["width"], row["height"])
    try:
        cells = zlib.decompressobj().decompress(base64.b64decode(row["cells"]), row["width"] * row["height"] + 1)
    except zlib.error as cause:
        raise ValueError(str(cause)) from cause
    return OccupancyGrid(
        map_id=row["map_id"], frame_id=row["frame_id"], resolution=row["resolution"],
        origin=Origin(row["origin_x"], row["origin_y"], row["origin_yaw"]),
        width=row["width"], height=row["height"], cells=cells, observed_at=row["observed_at"],
    )  # fmt: skip


def _move(point: dict[str, Any]) -> Move:
    pose = (float(point["x"]), float(point["y"]), float(point["yaw"]))
    move = Move(int(point["observed_at"]), *pose, int(point["segment"]))
    check_moves([move])
    return move


def _text(blob: object) -> str:
    assert isinstance(blob, bytes)
    return base64.b64encode(blob).decode()


_FILE = option("file", type=Path, metavar="FILE.jsonl", help="file of JSON lines; an export makes a new one")
COMMANDS = (
    Command(
        "export", "write all active memories as JSON lines",
        "Write all active memories of a file as JSON lines, with their sightings and history, the maps and the path "
        "of the robot. Files of the last version before the first release can be read, too.", _export,
        (_FILE, DATABASE),
    ),
    Command(
        "backup", "copy a memory while it is in use",
        "Copy a memory into a new file, with all that is in its log, also while a node writes.", _backup,
        (option("file", type=Path, metavar="FILE.db", help="the copy, a new file"), DATABASE),
    ),
    Command(
        "import", "learn and store exported memories",
        "Learn the facts and store the perceptions of an export. They get new ids. Of an object, the last sighting is "
        "stored. Sessions, outcomes and history are not imported.", _import, (_FILE, DATABASE),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
