"""Writes objects to their table, and what is theirs to that of memories; reads them back."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ..clocks import iso
from ..geometry import Covariance, Estimate, Point
from ..models import SeenObject
from ..text.labels import label_key
from . import neighbour_rows
from .decay import Decay
from .neighbour_rows import Neighbours

_COLUMNS = """
    m.id, m.label, m.context, m.x, m.y, m.z, o.votes, o.vxx, o.vxy, o.vxz, o.vyy, o.vyz, o.vzz, o.first_seen,
    o.last_seen, o.times_seen, o.best_confidence, o.confirmed, o.missed, o.last_missed, o.last_kept, o.unkept,
    o.sources
"""
_NEAR = f"""
    SELECT {_COLUMNS} FROM objects_rtree AS r CROSS JOIN memories AS m ON m.id = r.id
    CROSS JOIN objects AS o ON o.memory_id = m.id
    WHERE r.space0 >= ?1 - 0.5 AND r.space1 <= ?1 + 0.5 AND r.x1 >= ?2 AND r.x0 <= ?3 AND r.y1 >= ?4 AND r.y0 <= ?5
    AND r.z1 >= ?6 AND r.z0 <= ?7 AND m.status = 'active' AND m.collection = ?8
"""
_INSERT = """
    INSERT INTO objects (
        memory_id, votes, vxx, vxy, vxz, vyy, vyz, vzz, first_seen, last_seen, times_seen, best_confidence, confirmed,
        missed, last_missed, last_kept, unkept, sources
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE = """
    UPDATE objects SET
        votes = ?2, vxx = ?3, vxy = ?4, vxz = ?5, vyy = ?6, vyz = ?7, vzz = ?8, first_seen = ?9, last_seen = ?10,
        times_seen = ?11, best_confidence = ?12, confirmed = ?13, missed = ?14, last_missed = ?15, last_kept = ?16,
        unkept = ?17, sources = ?18
    WHERE memory_id = ?1
"""


@dataclass
class ObjectRow:
    """What the database knows of one object, beside the memory that it is."""

    memory_id: int
    label: str
    context: str
    estimate: Estimate
    votes: dict[str, int]
    """How many sightings gave each label, as they gave it."""
    first_seen: int
    last_seen: int
    times_seen: int
    best_confidence: float
    confirmed: bool
    missed: int = 0
    """How many views of its place had it not, since the last sighting."""
    last_missed: int = 0
    last_kept: int = 0
    """Time of the sighting that was kept last."""
    unkept: int = 0
    """Sightings counted and not kept since then."""
    sources: dict[str, str] = field(default_factory=dict)
    """What saw it, each with the tracking id that it gave last, or ""."""
    received_at: int = 0
    """When the sighting at hand came in, by the robot's clock."""

    @property
    def label_key(self) -> str:
        """What its label is compared by."""
        return label_key(self.label)

    @property
    def position(self) -> Point:
        """Metres, in the frame of its memory."""
        return self.estimate.position


def space_of(connection: sqlite3.Connection, frame_id: str, map_id: str) -> int | None:
    """The space of positions in a frame of a map; None when no memory has one in it."""
    row = connection.execute(
        "SELECT id FROM spaces WHERE field = 'position' AND frame_id = ? AND map_id = ?", (frame_id, map_id)
    ).fetchone()
    return None if row is None else int(row[0])


def near(
    connection: sqlite3.Connection,
    space: int,
    collection: str,
    places: Collection[Point],
    *,
    reach: float,
    labels: Collection[str] = (),
) -> list[ObjectRow]:
    """All active objects within `reach` metres of one of some places, and others in the box around them.

    `labels` are keys; without them it is those of any label.
    """
    # The tree keeps 32-bit floats, rounded outwards; the margin covers the rounding of the limits themselves.
    wide = reach * (1 + 1e-9) + 1e-9
    limits = [limit for axis in zip(*places, strict=True) for limit in (min(axis) - wide, max(axis) + wide)]
    sql = f"{_NEAR} AND m.label_key IN ({', '.join('?' * len(labels))})" if labels else _NEAR
    return [_row(row) for row in connection.execute(sql, (space, *limits, collection, *labels))]


def insert(connection: sqlite3.Connection, row: ObjectRow) -> None:
    """Makes an object of a memory that is already stored."""
    connection.execute(_INSERT, _values(row))


def save(connection: sqlite3.Connection, row: ObjectRow) -> None:
    """Writes what changed of an object beside its memory."""
    connection.execute(_UPDATE, _values(row))


def move(connection: sqlite3.Connection, row: ObjectRow, confidence: float) -> None:
    """Writes position, confidence and time of an object into its memory, from where the indexes follow."""
    connection.execute(
        "UPDATE memories SET x = ?, y = ?, z = ?, confidence = ?, observed_at = ?, "
        "refreshed_at = max(refreshed_at, ?), updated_at = ? WHERE id = ?",
        (*row.position, confidence, row.last_seen, row.received_at, iso(time.time_ns()), row.memory_id),
    )


def set_confidence(connection: sqlite3.Connection, memory_id: int, confidence: float) -> None:
    """Writes the confidence of an object into its memory."""
    connection.execute(
        "UPDATE memories SET confidence = ?, updated_at = ? WHERE id = ?",
        (confidence, iso(time.time_ns()), memory_id),
    )


def set_label(connection: sqlite3.Connection, memory_id: int, label: str) -> None:
    """Writes the label that has the most votes."""
    connection.execute("UPDATE memories SET label = ? WHERE id = ?", (label, memory_id))


def set_described(connection: sqlite3.Connection, memory_id: int, observed_at: int, session_id: str) -> None:
    """Writes when and in which session the sighting was that gave an object its content and data."""
    connection.execute(
        "UPDATE objects SET described_at = ?, described_in = ? WHERE memory_id = ?",
        (observed_at, session_id, memory_id),
    )


def set_context(connection: sqlite3.Connection, memory_id: int, context: str) -> None:
    """Writes the context of the last sighting."""
    connection.execute("UPDATE memories SET context = ? WHERE id = ?", (context, memory_id))


def set_last_sight(
    connection: sqlite3.Connection, memory_id: int, orientation: tuple[float, ...], session_id: str
) -> None:
    """Writes the orientation (a quaternion) of the last sighting, and its session unless that is empty."""
    connection.execute(
        "UPDATE memories SET qx = ?, qy = ?, qz = ?, qw = ?, session_id = coalesce(nullif(?, ''), session_id) "
        "WHERE id = ?",
        (*orientation, session_id, memory_id),
    )


def supersede(connection: sqlite3.Connection, memory_id: int, by: int) -> None:
    """Withdraws an object that turned out to be another one; its sightings become those of the other."""
    connection.execute(
        "UPDATE memories SET status = 'superseded', status_reason = 'the same object', superseded_by = ?2, "
        "updated_at = ?3 WHERE id = ?1",
        (memory_id, by, iso(time.time_ns())),
    )
    connection.execute("UPDATE sightings SET memory_id = ?2 WHERE memory_id = ?1", (memory_id, by))
    connection.execute("DELETE FROM objects WHERE memory_id = ?", (memory_id,))
    others = connection.execute(
        "SELECT CASE memory_id WHEN ?1 THEN other_id ELSE memory_id END, together, alone FROM neighbours "
        "WHERE ?1 IN (memory_id, other_id)",
        (memory_id,),
    ).fetchall()
    connection.execute("DELETE FROM neighbours WHERE ?1 IN (memory_id, other_id)", (memory_id,))
    for other, together, alone in others:
        if other != by:
            neighbour_rows.count(connection, by, other, Neighbours(together, alone))


def seen_last(connection: sqlite3.Connection, map_id: str, limit: int, *, decay: Decay) -> tuple[SeenObject, ...]:
    """The active objects of a map, those seen last first, as sure as they are now."""
    confidence = decay.confidence()
    rows = connection.execute(
        f"SELECT m.id, m.label, m.x, m.y, m.z, {confidence.sql}, m.frame_id, o.first_seen, o.last_seen, o.times_seen, "
        "o.confirmed FROM objects AS o JOIN memories AS m ON m.id = o.memory_id "
        "WHERE m.status = 'active' AND m.map_id = ? ORDER BY o.last_seen DESC, m.id LIMIT ?",
        (*confidence.arguments, map_id, limit),
    )
    return tuple(
        SeenObject(memory_id, label, (x, y, z), confidence, frame_id, first, last, times, bool(confirmed))
        for memory_id, label, x, y, z, confidence, frame_id, first, last, times, confirmed in rows
    )


def is_object(connection: sqlite3.Connection, memory_id: int) -> bool:
    """Whether an active memory is an object."""
    sql = (
        "SELECT 1 FROM objects AS o JOIN memories AS m ON m.id = o.memory_id WHERE o.memory_id = ? "
        "AND m.status = 'active'"
    )
    return connection.execute(sql, (memory_id,)).fetchone() is not None


def _values(row: ObjectRow) -> tuple[object, ...]:
    return (
        row.memory_id, json.dumps(row.votes, ensure_ascii=False, sort_keys=True), *row.estimate.covariance,
        row.first_seen, row.last_seen, row.times_seen, row.best_confidence, row.confirmed, row.missed, row.last_missed,
        row.last_kept, row.unkept, json.dumps(row.sources, ensure_ascii=False, sort_keys=True),
    )  # fmt: skip


def _row(row: tuple[Any, ...]) -> ObjectRow:
    memory_id, label, context, x, y, z, votes, *others = row
    first, last, times, best, confirmed, missed, last_missed, last_kept, unkept, sources = others[6:]
    estimate = Estimate((x, y, z), Covariance(*others[:6]))
    return ObjectRow(
        memory_id, label, context, estimate, json.loads(votes), first, last, times, best, bool(confirmed), missed,
        last_missed, last_kept, unkept, json.loads(sources),
    )  # fmt: skip
