"""What a purge would take, for the question before it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import MemoryNotFoundError
from ..models import Kind
from .parts import count
from .selection import Selection

_SHOWN = 5


class Share(NamedTuple):
    """How much of one collection and kind goes."""

    collection: str
    kind: Kind
    memories: int
    first_observed: int
    """Nanoseconds of the robot's clock."""
    last_observed: int


class Preview(NamedTuple):
    """What a purge would take."""

    memories: int
    sightings: int
    """Of these memories, and those of objects that stay which are of the selection's session and time."""
    sessions: int
    shares: tuple[Share, ...]
    """By collection and kind."""
    examples: tuple[tuple[int, str], ...]
    """Ids and contents of the first few."""
    repetitions: int
    """Learnings of facts that stay, since they were learned in another session or later, too."""


def preview(connection: sqlite3.Connection, selection: Selection) -> Preview:
    """What a purge of a selection would take now.

    Raises:
        MemoryNotFoundError: an id is unknown.
    """
    _check_ids(connection, selection.ids or ())
    ids = selection.ids_in(connection)
    chosen = json.dumps(ids)
    those = "id IN (SELECT value FROM json_each(?))"
    shares = connection.execute(
        f"SELECT collection, type, count(*), min(observed_at), max(observed_at) FROM memories WHERE {those} "
        "GROUP BY collection, type ORDER BY collection, type",
        (chosen,),
    ).fetchall()
    examples = connection.execute(
        f"SELECT id, content FROM memories WHERE {those} ORDER BY id LIMIT ?", (chosen, _SHOWN)
    ).fetchall()
    of_objects = "SELECT count(*) FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.memory_id = j.value"
    (sightings,) = connection.execute(of_objects, (chosen,)).fetchone()
    parts = count(connection, selection, ids)
    return Preview(
        sum(share[2] for share in shares),
        sightings + parts.sightings,
        len(selection.sessions_in(connection)),
        tuple(Share(collection, Kind(kind), *rest) for collection, kind, *rest in shares),
        tuple(examples),
        parts.repetitions,
    )


def _check_ids(connection: sqlite3.Connection, wanted: Iterable[int]) -> None:
    unknown = connection.execute(
        "SELECT min(value) FROM json_each(?) WHERE value NOT IN (SELECT id FROM memories)", (json.dumps(list(wanted)),)
    ).fetchone()[0]
    if unknown is not None:
        raise MemoryNotFoundError(unknown)
