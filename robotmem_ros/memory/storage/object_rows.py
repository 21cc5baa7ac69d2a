"""Write tracked objects and the counts of their neighbours, and read them back."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

from ..clocks import iso
from ..geometry import Covariance, Estimate, Point, squared_distance
from ..models import SeenObject
from ..text.normal_form import label_key
from .decay import Decay
from .indexing import changing
from .rows import update

_NUMBERS = (
    "first_seen", "last_seen", "times_seen", "hits", "misses", "missed", "last_hit", "last_missed", "last_kept",
    "subsampled",
)  # fmt: skip
"""Columns of objects that are fields of ObjectRow as they are."""
_COVARIANCE = ("vxx", "vxy", "vxz", "vyy", "vyz", "vzz")
_COLUMNS = ("votes", "sources", "confirmed", "told", *_COVARIANCE, *_NUMBERS)
_SELECTED = ("memory_id", "label", "context", "confidence", "x", "y", "z", *_COLUMNS)
_NEAR = f"""
    SELECT {", ".join(_SELECTED)} FROM spaces AS s CROSS JOIN objects_rtree AS r CROSS JOIN memories AS m ON m.id = r.id
    CROSS JOIN objects AS o ON o.memory_id = m.id
    WHERE s.field = 'position' AND s.frame_id = ? AND s.map_id = ?
    AND r.space0 >= s.id - 0.5 AND r.space1 <= s.id + 0.5 AND r.x1 >= ? AND r.x0 <= ? AND r.y1 >= ? AND r.y0 <= ?
    AND r.z1 >= ? AND r.z0 <= ? AND m.status = 'active' AND m.collection = ?
"""
_INSERT = f"""
    INSERT INTO objects ({", ".join(_COLUMNS)}, memory_id, described_at, described_in)
    VALUES ({", ".join("?" * len(_COLUMNS))}, ?, ?, ?)
"""
_UPDATE = f"UPDATE objects SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE memory_id = ?"
# Made once: to make it takes longer than to use it.
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_numbers = attrgetter(*_NUMBERS)


@dataclass
class ObjectRow:
    """A tracked object: its row and what its memory says of it."""

    memory_id: int
    label: str
    context: str
    estimate: Estimate
    votes: dict[str, int]
    """How many sightings gave each label, as they gave it."""
    first_seen: int
    last_seen: int
    times_seen: int
    existence: float
    """Probability that it exists, the confidence of its memory."""
    hits: float
    """Looks that detected it; each look counts by how little it depends on the one before."""
    last_hit: int
    """When the last of them was counted."""
    confirmed: bool
    misses: float = 0.0
    """Looks that did not, though it was detected again later."""
    missed: float = 0.0
    """Looks that did not since it was detected last."""
    last_missed: int = 0
    last_kept: int = 0
    """Time of the last sighting that has a row."""
    subsampled: int = 0
    """Sightings since then, which have none."""
    told: bool = False
    """Whether a caller saved it, and not only a stream."""
    sources: dict[str, str] = field(default_factory=dict)
    """What saw it, each with the tracking id that it gave last, or ""."""

    @property
    def label_key(self) -> str:
        """Return what its label is compared by."""
        return label_key(self.label)

    @property
    def position(self) -> Point:
        """Return its position in metres, in the frame of its memory."""
        return self.estimate.position


def near(
    connection: sqlite3.Connection,
    positions: Collection[Point],
    *,
    radius: float,
    frame_id: str,
    map_id: str,
    collection: str,
) -> list[ObjectRow]:
    """Return all active objects within `radius` metres of one of the positions, in `frame_id` and `map_id`."""
    # The tree keeps 32-bit floats, rounded outwards; the margin covers the rounding of the limits themselves.
    wide = radius * (1 + 1e-9) + 1e-9
    limits = [limit for axis in zip(*positions, strict=True) for limit in (min(axis) - wide, max(axis) + wide)]
    rows = connection.execute(_NEAR, (frame_id, map_id, *limits, collection))
    squared = wide * wide
    return [_object(row) for row in rows if any(squared_distance(row[4:7], place) <= squared for place in positions)]


def insert(connection: sqlite3.Connection, row: ObjectRow, session_id: str) -> None:
    """Make an object of a memory that is already stored; its first sighting, in this session, describes it."""
    with changing(connection, [row.memory_id]):
        connection.execute(_INSERT, (*_values(row), row.memory_id, row.first_seen, session_id))


def save(connection: sqlite3.Connection, row: ObjectRow) -> None:
    """Write what an object has beside its memory."""
    connection.execute(_UPDATE, (*_values(row), row.memory_id))


def update_memory(connection: sqlite3.Connection, memory_id: int, *, received_at: int = 0, **columns: object) -> None:
    """Write columns of the memory that an object is, from where the indexes follow.

    `received_at` is when a sighting came in with a stream, by the robot's clock in nanoseconds; 0 for none.
    """
    update(connection, memory_id, {**columns, "received_at": received_at, "updated_at": iso(time.time_ns())})


def relabel(connection: sqlite3.Connection, memory_id: int, label: str) -> None:
    """Count all sightings of an object so far as votes for a label; does nothing to what is no object."""
    connection.execute("UPDATE objects SET votes = json_object(?, times_seen) WHERE memory_id = ?", (label, memory_id))


def confirm(connection: sqlite3.Connection, memory_id: int, least: float) -> None:
    """Note whether an object whose confidence was changed has at least this one; nothing if it is no object."""
    connection.execute(
        "UPDATE objects SET confirmed = (SELECT confidence >= ?2 FROM memories WHERE id = ?1) WHERE memory_id = ?1",
        (memory_id, least),
    )


def supersede(connection: sqlite3.Connection, memory_id: int, by: int) -> None:
    """Withdraw an object that turned out to be another one, which gets its sightings and neighbours."""
    reason = {"status": "superseded", "status_reason": "the same object", "superseded_by": by}
    update(connection, memory_id, {**reason, "updated_at": iso(time.time_ns())})
    connection.execute("UPDATE sightings SET memory_id = ?2 WHERE memory_id = ?1", (memory_id, by))
    with changing(connection, [memory_id]):
        connection.execute("DELETE FROM objects WHERE memory_id = ?", (memory_id,))
    moved = connection.execute(
        "DELETE FROM neighbours WHERE ?1 IN (memory_id, other_id) "
        "RETURNING iif(memory_id = ?1, other_id, memory_id), together, alone",
        (memory_id,),
    ).fetchall()
    for other, together, alone in moved:
        if other != by:
            count_neighbours(connection, by, other, together=together, alone=alone)


def count_neighbours(
    connection: sqlite3.Connection, one: int, other: int, *, together: int = 0, alone: int = 0
) -> tuple[int, int]:
    """Count messages in which two neighbours were both seen, or only one of them; return how many there were so far."""
    row = connection.execute(
        "INSERT INTO neighbours (memory_id, other_id, together, alone) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT DO UPDATE SET together = together + ?3, alone = alone + ?4 RETURNING together, alone",
        (min(one, other), max(one, other), together, alone),
    ).fetchone()
    return int(row[0]), int(row[1])


def seen_together(connection: sqlite3.Connection, pairs: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return those of some pairs of objects, lower id first, that were both seen in one message."""
    return connection.execute(
        "SELECT n.memory_id, n.other_id FROM json_each(?) AS p CROSS JOIN neighbours AS n "
        "ON n.memory_id = json_extract(p.value, '$[0]') AND n.other_id = json_extract(p.value, '$[1]') "
        "WHERE n.together > 0",
        (json.dumps(list(pairs)),),
    ).fetchall()


def seen_last(
    connection: sqlite3.Connection, map_id: str, limit: int, *, decay: Decay, include_unconfirmed: bool
) -> tuple[SeenObject, ...]:
    """Return the active objects of a map, those seen last first, with decayed confidence."""
    confidence = decay.confidence()
    rows = connection.execute(
        f"SELECT m.id, m.label, m.x, m.y, m.z, {confidence.sql}, m.frame_id, o.first_seen, o.last_seen, o.times_seen, "
        "o.confirmed, o.vxx + o.vyy FROM objects AS o JOIN memories AS m ON m.id = o.memory_id "
        "WHERE m.status = 'active' AND m.map_id = ? AND o.confirmed >= ? ORDER BY o.last_seen DESC, m.id LIMIT ?",
        (*confidence.arguments, map_id, not include_unconfirmed, limit),
    )
    return tuple(
        SeenObject(
            memory_id, label, (x, y, z), confidence, frame_id, first, last, times, bool(confirmed), math.sqrt(both / 2)
        )
        for memory_id, label, x, y, z, confidence, frame_id, first, last, times, confirmed, both in rows
    )


def is_object(connection: sqlite3.Connection, memory_id: int) -> bool:
    """Tell whether an active memory is an object."""
    sql = (
        "SELECT 1 FROM objects AS o JOIN memories AS m ON m.id = o.memory_id WHERE o.memory_id = ? "
        "AND m.status = 'active'"
    )
    return connection.execute(sql, (memory_id,)).fetchone() is not None


def _values(row: ObjectRow) -> tuple[object, ...]:
    """Return the values of _COLUMNS, in their order."""
    return (_JSON(row.votes), _JSON(row.sources), row.confirmed, row.told, *row.estimate.covariance, *_numbers(row))


def _object(record: Sequence[Any]) -> ObjectRow:
    """Make a row of the values of _SELECTED."""
    memory_id, label, context, existence, x, y, z, votes, sources, confirmed, told, *rest = record
    return ObjectRow(
        memory_id,
        label,
        context,
        Estimate((x, y, z), Covariance(*rest[: len(_COVARIANCE)])),
        existence=existence,
        votes={**_parsed(votes)},
        sources={**_parsed(sources)},
        confirmed=bool(confirmed),
        told=bool(told),
        **dict(zip(_NUMBERS, rest[len(_COVARIANCE) :], strict=True)),
    )


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Mapping[str, Any]:
    # Most objects that a message brings up are only neighbours of what it shows, and have not changed.
    found: dict[str, Any] = json.loads(text)
    return found
