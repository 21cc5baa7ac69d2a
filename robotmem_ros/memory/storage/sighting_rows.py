"""Keeps the sightings of objects in their table, fewer of them the more there are, and reads them back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import pairwise

from ..models import Sighting


def insert(connection: sqlite3.Connection, memory_id: int, sighting: Sighting, session_id: str) -> None:
    """Keeps a sighting of an object in a session, if that is not empty."""
    connection.execute(
        "INSERT INTO sightings (memory_id, observed_at, x, y, z, confidence, label, thinned, session_id) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory_id, sighting.observed_at, *sighting.position, sighting.confidence, sighting.label, sighting.thinned,
            session_id,
        ),
    )  # fmt: skip


def thin_out(connection: sqlite3.Connection, memory_id: int, limit: int) -> None:
    """Leaves every second sighting out if there are more than `limit`; the first and the last stay."""
    (count,) = connection.execute("SELECT count(*) FROM sightings WHERE memory_id = ?", (memory_id,)).fetchone()
    if count > limit:
        halve(connection, memory_id)


def halve(connection: sqlite3.Connection, memory_id: int) -> int:
    """Leaves every second sighting out; the first and the last stay. How many went."""
    kept = connection.execute(
        "SELECT id, thinned FROM sightings WHERE memory_id = ? ORDER BY observed_at, id", (memory_id,)
    ).fetchall()
    # The second, the fourth and so on, but never the last: each is counted by the one that follows it.
    leaving = [pair for index, pair in enumerate(pairwise(kept)) if index % 2 == 1]
    for (gone, thinned), (stays, _) in leaving:
        connection.execute("UPDATE sightings SET thinned = thinned + ? WHERE id = ?", (thinned + 1, stays))
        connection.execute("DELETE FROM sightings WHERE id = ?", (gone,))
    return len(leaving)


def counts(connection: sqlite3.Connection) -> dict[int, int]:
    """Return how many sightings each object has."""
    return dict(connection.execute("SELECT memory_id, count(*) FROM sightings GROUP BY memory_id").fetchall())


def drop(connection: sqlite3.Connection, memory_id: int, ids: Sequence[int]) -> None:
    """Leaves out sightings of an object, which stay counted."""
    those, arguments = "id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    (counted,) = connection.execute(
        f"SELECT coalesce(sum(thinned + 1), 0) FROM sightings WHERE {those}", arguments
    ).fetchone()
    connection.execute(f"DELETE FROM sightings WHERE {those}", arguments)
    first = connection.execute(
        "SELECT id, observed_at FROM sightings WHERE memory_id = ? ORDER BY observed_at, id LIMIT 1", (memory_id,)
    ).fetchone()
    if first is None:
        connection.execute(
            "UPDATE objects SET unkept = unkept + ?, first_seen = last_seen WHERE memory_id = ?", (counted, memory_id)
        )
    else:
        connection.execute("UPDATE sightings SET thinned = thinned + ? WHERE id = ?", (counted, first[0]))
        connection.execute("UPDATE objects SET first_seen = ? WHERE memory_id = ?", (first[1], memory_id))


def labels(connection: sqlite3.Connection, memory_id: int) -> dict[str, int]:
    """How many of the sightings of an object that are kept gave each label."""
    sql = "SELECT label, count(*) FROM sightings WHERE memory_id = ? GROUP BY label"
    return dict(connection.execute(sql, (memory_id,)))


def history(connection: sqlite3.Connection, memory_id: int, n: int) -> tuple[Sighting, ...]:
    """The last `n` sightings of an object that were kept, newest first."""
    rows = connection.execute(
        "SELECT observed_at, x, y, z, confidence, label, thinned FROM sightings WHERE memory_id = ? "
        "ORDER BY observed_at DESC, id DESC LIMIT ?",
        (memory_id, n),
    )
    return tuple(Sighting(when, (x, y, z), *others) for when, x, y, z, *others in rows)
