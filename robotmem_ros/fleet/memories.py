"""Read objects of the fleet, for a map of all robots, and one memory in full."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..memory.conditions.attributes import ConfirmedObjects
from ..memory.conditions.decay import Decay
from ..memory.errors import MALFORMED
from ..memory.models import Change, SeenObject, Sighting
from ..memory.search.details import MemoryDetails
from .ask import FROM, Asker, ask, memory_of, size_of
from .conditions import Sql, confidence, has_faded
from .connection import Connection

_LAST_SEEN = "m.body #> '{object,0,last_seen}'"
_LIMIT = 100
"""Changes and sightings of a memory that are read, as of one in the robot's own file."""


def objects(
    connection: Connection, asker: Asker, decay: Decay, limit: int, *, include_unconfirmed: bool
) -> list[SeenObject]:
    """Return the active objects of all robots and maps, those seen last first.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    condition = asker.candidates([] if include_unconfirmed else [ConfirmedObjects()])
    rows = ask(
        connection, "SELECT r.name, m.memory_id, m.body, ", confidence(decay), FROM,
        "WHERE m.confirmed IS NOT NULL AND ", condition, Sql(f" ORDER BY {_LAST_SEEN} DESC, m.uuid LIMIT %s", (limit,)),
    )  # fmt: skip
    things = []
    for row in rows:
        with suppress(*MALFORMED):  # what no robot wrote
            things.append(_object(*row))
    return things


def details(connection: Connection, robot: str, memory_id: int, decay: Decay) -> MemoryDetails | None:
    """Return a memory in full, by the id in its robot's file; None if the login sees none. Raw data stay there.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    rows = ask(
        connection, "SELECT m.memory_id, m.body, ", confidence(decay), ", ", has_faded(decay), FROM,
        Sql("WHERE r.name = %s AND m.memory_id = %s ORDER BY m.status, m.revision DESC LIMIT 1", (robot, memory_id)),
    )  # fmt: skip
    try:
        return _details(*rows[0]) if rows else None
    except MALFORMED:
        return None  # no robot wrote it


def _object(robot: str, memory_id: int, body: Mapping[str, Any], confidence_now: float) -> SeenObject:
    thing = body["object"][0]
    return SeenObject(
        memory_id, body["label"], (body["x"], body["y"], body["z"]), confidence_now, body["frame_id"],
        thing["first_seen"], thing["last_seen"], thing["times_seen"], bool(thing["confirmed"]),
        math.sqrt((thing["vxx"] + thing["vyy"]) / 2), body["collection"], body["map_id"], robot, size=size_of(body),
        orientation=(body["qx"], body["qy"], body["qz"], body["qw"]),
    )  # fmt: skip


def _details(memory_id: int, body: Mapping[str, Any], confidence_now: float, faded: bool) -> MemoryDetails:
    sightings = sorted(body["sightings"], key=lambda sighting: -sighting["observed_at"])[:_LIMIT]
    return MemoryDetails(
        memory_of(memory_id, body, confidence_now, faded), body["status"], body["status_reason"],
        tuple(Change(**change) for change in body["history"][: -_LIMIT - 1 : -1]),
        tuple(_sighting(sighting) for sighting in sightings), None,
    )  # fmt: skip


def _sighting(row: Mapping[str, Any]) -> Sighting:
    position = (row["x"], row["y"], row["z"])
    return Sighting(row["observed_at"], position, row["confidence"], row["label"], row["subsampled"])
