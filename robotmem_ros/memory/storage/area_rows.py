"""Keep the areas of each map beside its memories, so that copies, exports and the fleet have them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..areas import Areas, checked_area
from ..clocks import iso
from ..config.parameters import Parameters
from . import revisions
from .database import Database
from .snapshot import Transaction


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


def save(transaction: Transaction, areas: MapAreas) -> None:
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
            self._database.write(partial(save, areas=areas), background=True).result()
            self._saved = areas
        return False
