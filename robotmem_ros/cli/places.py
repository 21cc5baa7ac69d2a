"""Carry maps and the path of the robot from one file to another, as lines of JSON between those of memories."""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import zlib
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..memory.maps import Move, OccupancyGrid, Origin, PathPart
from ..memory.maps.occupancy_grid import check_size
from ..memory.robot_memory import RobotMemory
from ..memory.storage import map_rows, path_rows

_MAP, _PATH = "map", "path"
TYPES = (_MAP, _PATH)
"""Types of lines that hold no memory."""
_POINTS = 500
"""Points of the path in one line."""


def lines(connection: sqlite3.Connection) -> list[str]:
    """Return the maps and the path as JSON, one map or many points a line."""
    grids = map_rows.rows(connection)
    points = path_rows.rows(connection)
    parts = [points[start : start + _POINTS] for start in range(0, len(points), _POINTS)]
    of_maps = [{"type": _MAP, **grid, **{name: _text(grid[name]) for name in ("digest", "cells")}} for grid in grids]
    return [json.dumps(row, ensure_ascii=False) for row in (*of_maps, *({"type": _PATH, "points": p} for p in parts))]


@dataclass(frozen=True)
class Place:
    """What a line holds: a map or a part of the path."""

    collection: str = ""
    """Of the map."""
    grid: OccupancyGrid | None = None
    parts: tuple[PathPart, ...] = ()

    @classmethod
    def read(cls, row: dict[str, Any]) -> Place:
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


def store(memory: RobotMemory, place: Place) -> None:
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
    if not all(map(math.isfinite, pose)):
        raise ValueError("a pose is not finite")
    return Move(int(point["observed_at"]), *pose, int(point["segment"]))


def _text(blob: object) -> str:
    assert isinstance(blob, bytes)
    return base64.b64encode(blob).decode()
