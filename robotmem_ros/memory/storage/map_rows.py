"""Write and read the occupancy grid of each map, a row each."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from ..map_values import OccupancyGrid, Origin
from ..models import ImportKey
from . import imports, revisions
from .path_rows import newest_map
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
