"""Write and read occupancy grids, the areas of maps, and the path of the robot."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..areas import Areas, checked_area
from ..clocks import iso
from ..config.parameters import Parameters
from ..map_values import OccupancyGrid, Origin, PathPart, PathPoint
from ..models import ImportKey
from ..validation import LATEST_NS
from . import imports, revisions
from .database import Database
from .snapshot import Snapshot, Transaction

_LEVEL = 3
"""Level of compression: maps are large and plain, and higher levels gain little."""
_COLUMNS = "map_id, frame_id, resolution, origin_x, origin_y, origin_yaw, width, height, observed_at"


class PackedGrid(NamedTuple):
    """A compressed grid, made before the writer gets it, so that the writer does not wait for the compression."""

    grid: OccupancyGrid
    digest: bytes
    cells: bytes


class MapInfo(NamedTuple):
    """What a grid is, without its cells."""

    map_id: str
    frame_id: str
    resolution: float
    """Metres per cell."""
    origin: Origin
    width: int
    height: int
    observed_at: int
    """Nanoseconds of the robot's clock."""
    digest: str
    """Digest of cells, origin, resolution, frame and map."""


def pack(grid: OccupancyGrid) -> PackedGrid:
    """Compress the cells of a grid."""
    return PackedGrid(grid, grid.digest(), zlib.compress(grid.cells, _LEVEL))


def save(
    transaction: Transaction,
    new: PackedGrid,
    collection: str,
    *,
    keeps_newer: bool = False,
    key: ImportKey | None = None,
) -> bool:
    """Store a grid in place of the one of its map; return whether it differs. With `keeps_newer` a newer one stays.

    A grid with a `key` is stored only once.
    """
    if not imports.claim(transaction, key):
        return False
    grid = new.grid
    row = transaction.row("SELECT digest, observed_at FROM occupancy_grids WHERE map_id = ?", (grid.map_id,))
    if row and keeps_newer and row[1] > grid.observed_at:
        return False
    if row and row[0] == new.digest:
        transaction.execute(
            f"UPDATE occupancy_grids SET observed_at = ?, {revisions.SET_REVISION} WHERE map_id = ?",
            (grid.observed_at, grid.map_id),
        )
        return False
    transaction.execute(
        f"INSERT INTO occupancy_grids ({_COLUMNS}, collection, digest, cells, uuid, revision) "
        f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {revisions.NEXT}) "
        f"ON CONFLICT (map_id) DO UPDATE SET ({_COLUMNS}, collection, digest, cells) = "
        f"({', '.join(f'excluded.{name}' for name in (*_COLUMNS.split(', '), 'collection', 'digest', 'cells'))}), "
        f"{revisions.SET_REVISION}",
        (grid.map_id, grid.frame_id, grid.resolution, *grid.origin, grid.width, grid.height, grid.observed_at,
         collection, new.digest, new.cells, revisions.uuid7()),
    )  # fmt: skip
    return True


def load(snapshot: Snapshot, map_id: str | None) -> OccupancyGrid | None:
    """Return the grid of a map, None if there is none; of the present map if `map_id` is None."""
    arguments = (_present_map(snapshot) if map_id is None else map_id,)
    row = snapshot.row(f"SELECT {_COLUMNS}, cells FROM occupancy_grids WHERE map_id = ?", arguments)
    if row is None:
        return None
    name, frame, resolution, x, y, yaw, width, height, observed_at, cells = row
    return OccupancyGrid(
        map_id=name, frame_id=frame, resolution=resolution, origin=Origin(x, y, yaw), width=width, height=height,
        cells=zlib.decompress(cells), observed_at=observed_at,
    )  # fmt: skip


def digest(snapshot: Snapshot, map_id: str, frame_id: str) -> bytes:
    """Return the digest of the grid of a map; empty if there is none in this frame."""
    sql = "SELECT digest FROM occupancy_grids WHERE map_id = ? AND frame_id = ?"
    row = snapshot.row(sql, (map_id, frame_id))
    return b"" if row is None else bytes(row[0])


def infos(snapshot: Snapshot) -> tuple[MapInfo, ...]:
    """Return what grids there are, by the names of their maps."""
    records = snapshot.rows(f"SELECT {_COLUMNS}, lower(hex(digest)) FROM occupancy_grids ORDER BY map_id")
    return tuple(
        MapInfo(name, frame, resolution, Origin(x, y, yaw), width, height, observed_at, digest)
        for name, frame, resolution, x, y, yaw, width, height, observed_at, digest in records
    )


def _present_map(snapshot: Snapshot) -> str | None:
    # The map on which the robot drove last, if it has a grid; else the map with the newest grid.
    row = snapshot.row(
        "SELECT map_id FROM occupancy_grids ORDER BY map_id IS ? DESC, observed_at DESC, map_id LIMIT 1",
        (newest_map(snapshot),),
    )
    return None if row is None else str(row[0])


class MapAreas(NamedTuple):
    """The areas of a map."""

    map_id: str
    frame_id: str
    polygons: str
    """JSON: the corners of each area by its name."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> MapAreas:
        """Return the areas of a unit of the feed; raises LookupError, TypeError or ValueError for what are none."""
        areas = [checked_area(f"polygons.{name}", name, corners) for name, corners in row["polygons"].items()]
        polygons = {area.name: area.corners for area in areas}
        return cls(str(row["map_id"]), str(row["frame_id"]), json.dumps(polygons, ensure_ascii=False))


def save_areas(transaction: Transaction, areas: MapAreas) -> None:
    """Store the areas of a map, unless they are what the file has."""
    if transaction.row("SELECT map_id, frame_id, polygons FROM areas WHERE map_id = ?", areas[:1]) != areas:
        transaction.execute(
            "INSERT INTO areas (map_id, frame_id, polygons, updated_at, uuid, revision) "
            f"VALUES (?, ?, ?, ?, ?, {revisions.NEXT}) ON CONFLICT (map_id) DO UPDATE SET "
            "frame_id = excluded.frame_id, polygons = excluded.polygons, updated_at = excluded.updated_at, "
            f"{revisions.SET_REVISION}",
            (*areas, iso(time.time_ns()), revisions.uuid7()),
        )


class AreaKeeper:
    """Stores the areas of `areas_file` when they or their map have changed."""

    def __init__(self, database: Database, areas: Areas, parameters: Callable[[], Parameters]) -> None:
        self._database = database
        self._areas = areas
        self._parameters = parameters
        self._saved: MapAreas | None = None

    def update(self) -> bool:
        """Store what has changed, if there is a file; return False: nothing is left."""
        if self._areas.file is None:
            return False
        parameters = self._parameters()
        polygons = {name: area.corners for name, area in sorted(self._areas.by_name().items())}
        areas = MapAreas(parameters.map_id, parameters.memory_frame, json.dumps(polygons, ensure_ascii=False))
        if areas != self._saved:
            self._database.write(partial(save_areas, areas=areas), background=True).result()
            self._saved = areas
        return False


_INSERT = """
    INSERT INTO path_points (observed_at, collection, session_id, frame_id, map_id, x, y, yaw, segment)
    VALUES (?1, ?2, coalesce(?9, (
        SELECT external_id FROM sessions
        WHERE collection = ?2 AND started_at <= ?1 AND coalesce(ended_at, expires_at, ?1) >= ?1
        ORDER BY started_at DESC, id DESC LIMIT 1
    ), ''), ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT DO NOTHING
"""
_NEWEST = "FROM path_points WHERE {} ORDER BY observed_at DESC LIMIT 1"
# Of `last + 1` rows, numbered from 0, the numbers of n evenly spaced rows are j * last / (n - 1).
_READ = """
    SELECT observed_at, x, y, yaw, session_id, segment FROM (
        SELECT *, row_number() OVER (ORDER BY observed_at, collection) - 1 AS i
        FROM path_points WHERE {}
    )
    WHERE :last < :n OR ((i * (:n - 1) + :last - 1) / :last) * :last / (:n - 1) = i
    ORDER BY i
"""
_LAST = """
    SELECT observed_at, x, y, yaw, session_id, segment FROM path_points WHERE {}
    ORDER BY observed_at DESC, collection DESC LIMIT 1
"""
# Deletes every second row of the older half, but no end of a segment.
_THIN = """
    DELETE FROM path_points WHERE (observed_at, collection) IN (
        SELECT observed_at, collection FROM (
            SELECT observed_at, collection, segment,
                row_number() OVER (ORDER BY observed_at, collection) AS number,
                lag(segment) OVER same AS before, lead(segment) OVER same AS after
            FROM (SELECT * FROM path_points ORDER BY observed_at, collection LIMIT :half)
            WINDOW same AS (PARTITION BY collection ORDER BY observed_at)
        ) WHERE number % 2 = 0 AND before = segment AND after = segment
    )
"""
_OLDEST = """
    DELETE FROM path_points WHERE (observed_at, collection) IN (
        SELECT observed_at, collection FROM path_points WHERE {} ORDER BY observed_at, collection LIMIT :limit
    )
"""


_LEAST_SHARE = 0.05


def insert_path(transaction: Transaction, part: PathPart) -> int:
    """Store poses, each with the given session or the one open then; return the number of new rows."""
    new = 0
    for move in part.moves:
        key = None if part.import_id is None else ImportKey(part.import_id, move.observed_at, 0, 0)
        if not imports.claim(transaction, key):
            continue
        pose = (move.x, move.y, move.yaw, move.segment)
        row = (move.observed_at, part.collection, part.frame_id, part.map_id, *pose, part.session_id)
        new += transaction.execute(_INSERT, row).rowcount
    return new


def newest_map(snapshot: Snapshot) -> str | None:
    """Return the map on which the robot drove last; None without a path."""
    row = snapshot.row(f"SELECT map_id {_NEWEST.format('true')}")
    return None if row is None else str(row[0])


def read_path(
    snapshot: Snapshot, *, after: int | None, before: int | None, map_id: str | None, n: int
) -> tuple[PathPoint, ...]:
    """Return the path on a map in `[after, before)`, oldest first: at most `n` evenly spaced points.

    None is no limit of time; for `map_id`, it is the map on which the robot drove last.
    """
    chosen_map = newest_map(snapshot) if map_id is None else map_id
    newest = snapshot.row(f"SELECT frame_id {_NEWEST.format('map_id = ?')}", (chosen_map,))
    if newest is None:
        return ()
    conditions = ["map_id = :map_id", "frame_id = :frame_id"]
    conditions += [] if after is None else ["observed_at >= :after"]
    conditions += [] if before is None else ["observed_at < :before"]
    scope = " AND ".join(conditions)
    arguments = {"map_id": chosen_map, "frame_id": newest[0], "after": after, "before": before, "n": n}
    if n > 1:
        (number,) = snapshot.row(f"SELECT count(*) FROM path_points WHERE {scope}", arguments)
        arguments["last"] = number - 1
    segments: dict[int, int] = {}
    return tuple(
        PathPoint(observed_at, x, y, yaw, session_id, segments.setdefault(segment, len(segments)))
        for observed_at, x, y, yaw, session_id, segment in snapshot.rows(
            (_READ if n > 1 else _LAST).format(scope), arguments
        )
    )


def robot_at(snapshot: Snapshot, times: Iterable[int], frame_id: str, map_id: str) -> list[tuple[float, float]]:
    """Return where the robot was on a map at some times, or last before each, in metres; else where it was last."""
    sql = f"SELECT x, y {_NEWEST.format('frame_id = ? AND map_id = ? AND observed_at <= ?')}"
    found = [snapshot.row(sql, (frame_id, map_id, time)) for time in times]
    found = [row for row in found if row is not None] or [snapshot.row(sql, (frame_id, map_id, LATEST_NS))]
    return [(row[0], row[1]) for row in dict.fromkeys(found) if row is not None]


def count_path(snapshot: Snapshot) -> int:
    """Return how many points there are."""
    (number,) = snapshot.row("SELECT count(*) FROM path_points")
    return int(number)


def thin_path(transaction: Transaction, max_points: int) -> int:
    """Halve the older half of the path if it has more than `max_points` points; return how many were deleted.

    Older parts are halved again and again. If that is not enough, since segments are short, the oldest points go.
    """
    number = size = count_path(transaction)
    while size > max_points:
        deletions = transaction.execute(_THIN, {"half": size // 2}).rowcount
        size -= deletions
        if deletions < _LEAST_SHARE * size:
            size -= transaction.execute(_OLDEST.format("true"), {"limit": max(0, size - max_points)}).rowcount
            break  # all that was too many is gone, unless the file is damaged
    return number - size


def delete_older_path(transaction: Transaction, older_than: int, since: int, collection: str | None, limit: int) -> int:
    """Delete the oldest `limit` points before a time, but not before `since`; return their number."""
    condition = "observed_at < :older_than AND observed_at >= :since AND coalesce(collection = :collection, true)"
    arguments = {"older_than": older_than, "since": since, "collection": collection, "limit": limit}
    return transaction.execute(_OLDEST.format(condition), arguments).rowcount


def count_older_path(snapshot: Snapshot, older_than: int, since: int, collection: str | None) -> int:
    """Return how many points `delete_older_path` would delete without a limit."""
    (number,) = snapshot.row(
        "SELECT count(*) FROM path_points WHERE observed_at < ? AND observed_at >= ? "
        "AND coalesce(collection = ?, true)",
        (older_than, since, collection),
    )
    return int(number)


def path_points(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return all points with every column, in the order of time."""
    return snapshot.mappings("SELECT * FROM path_points ORDER BY observed_at, collection")
