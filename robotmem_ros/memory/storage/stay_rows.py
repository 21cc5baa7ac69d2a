"""Write the stays of objects, and read them back: from when until when each was at its place, as far as looks tell."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import NamedTuple

from ..geometry import Point
from ..tracks import Stay
from .snapshot import Snapshot, Transaction

_MAX_STAYS = 1000
"""Stays of an object that are kept, the latest."""
_ENDED = "(last_seen, first_absent, label, confidence, x, y, z, area)"
_AREA = "iif(json_type(m.context, '$.spatial.area') = 'text', json_extract(m.context, '$.spatial.area'), '')"
_OPEN = "memory_id = ?1 AND last_seen IS NULL"
_BEGIN_EARLIER = f"UPDATE OR REPLACE stays SET first_seen = ?2 WHERE {_OPEN}"
_BEGIN = f"""
    INSERT INTO stays (memory_id, first_seen) VALUES (?1, ?2)
    ON CONFLICT DO UPDATE SET {_ENDED} = (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
_CUT = """
    DELETE FROM stays WHERE id IN (
        SELECT id FROM stays WHERE memory_id = ? ORDER BY first_seen DESC LIMIT -1 OFFSET ?
    )
"""
_END = f"""
    UPDATE stays SET {_ENDED} = (
        SELECT ?2, ?3, ?4, ?5, ?6, ?7, ?8, {_AREA} FROM memories AS m WHERE m.id = ?1
    ) WHERE {_OPEN}
"""
_END_AT = f"""
    UPDATE stays SET {_ENDED} = (
        SELECT max(o.last_seen, stays.first_seen), max(?2, o.last_seen), m.label, o.sure, m.x, m.y, m.z, {_AREA}
        FROM objects AS o JOIN memories AS m ON m.id = o.memory_id WHERE o.memory_id = ?1
    ) WHERE {_OPEN}
"""
# What two open stays tell is one stay.
_DELETE_SECOND = """
    DELETE FROM stays WHERE memory_id = ?1 AND last_seen IS NULL AND first_seen > (
        SELECT min(first_seen) FROM stays WHERE memory_id = ?1 AND last_seen IS NULL
    )
"""
_SIGHTED = "FROM sightings AS s WHERE s.memory_id = ?1 AND s.observed_at BETWEEN stays.first_seen AND stays.last_seen"
_REDUCE = (
    f"DELETE FROM stays WHERE memory_id = ?1 AND last_seen NOT NULL AND NOT EXISTS (SELECT 1 {_SIGHTED})",
    f"""
    UPDATE OR REPLACE stays SET (first_seen, last_seen) = (SELECT min(s.observed_at), max(s.observed_at) {_SIGHTED})
    WHERE memory_id = ?1 AND last_seen NOT NULL
    """,
    """
    UPDATE objects SET appeared = coalesce(
        (SELECT min(observed_at) FROM sightings WHERE memory_id = ?1 AND observed_at >= appeared), last_seen
    ) WHERE memory_id = ?1
    """,
    f"UPDATE OR REPLACE stays SET first_seen = (SELECT appeared FROM objects WHERE memory_id = ?1) WHERE {_OPEN}",
)
# An object that was seen last in the window, and is there since, is in it as it is.
_DURING = f"""
    SELECT s.memory_id, min(coalesce(s.last_seen, max(o.last_seen, s.first_seen)), ?2 - 1) AS last,
    coalesce(s.label, m.label), coalesce(s.confidence, o.sure), coalesce(s.x, m.x), coalesce(s.y, m.y),
    coalesce(s.z, m.z), coalesce(s.area, {_AREA})
    FROM stays AS s JOIN objects AS o ON o.memory_id = s.memory_id JOIN memories AS m ON m.id = s.memory_id
    WHERE s.first_seen < ?2 AND coalesce(s.last_seen, o.last_seen) >= ?1
    AND NOT (o.confirmed AND o.appeared <= o.last_seen AND o.last_seen >= ?1 AND o.last_seen < ?2)
    ORDER BY last, s.first_seen
"""


_HOUR = 3600e9
_PRIOR = 24.0
"""Hours that a thing stays, before anything is known of its label: one departure in as many is assumed."""
_LOOKED_AT = """
    SELECT o.memory_id, m.label, m.confidence, max(o.last_seen, o.last_missed), o.last_seen - o.appeared, o.confirmed
    FROM json_each(?) AS j CROSS JOIN objects AS o ON o.memory_id = j.value JOIN memories AS m ON m.id = o.memory_id
"""
# A thing left at any time between the last look at it and the one that found it gone.
_DEPARTURES = """
    SELECT count(*), total((last_seen + first_absent) / 2 - first_seen) FROM stays WHERE label = ?
"""


class PastStay(NamedTuple):
    """An object as it was in a window of time."""

    last_seen: int
    """When it was there last, within the window."""
    label: str
    confidence: float
    position: Point
    """Metres, in the frame of its memory."""
    area: str
    """Empty without one."""


def save(transaction: Transaction, memory_id: int, stay: Stay) -> None:
    """Save that a stay of an object opened, is older than it was known to be, or ended."""
    if stay.end is not None:
        *values, position = stay.end
        transaction.execute(_END, (memory_id, *values, *position))
    else:
        _begin(transaction, memory_id, stay.first_seen)


def _begin(transaction: Transaction, memory_id: int, first_seen: int) -> None:
    if not transaction.execute(_BEGIN_EARLIER, (memory_id, first_seen)).rowcount:
        transaction.execute(_BEGIN, (memory_id, first_seen))
        transaction.execute(_CUT, (memory_id, _MAX_STAYS))


def confirm(transaction: Transaction, memory_id: int, at: int) -> None:
    """Begin or end the stay of an object that a caller confirmed or not, at a time of the robot's clock."""
    row = transaction.row("SELECT confirmed, appeared FROM objects WHERE memory_id = ?", (memory_id,))
    if row is not None and row[0]:
        _begin(transaction, memory_id, row[1])
    elif row is not None:
        transaction.execute(_END_AT, (memory_id, at))


def leave(transaction: Transaction, memory_id: int, at: int) -> None:
    """End the stay of an object that is carried away, and begin the next one, at a time of the robot's clock."""
    if transaction.execute(_END_AT, (memory_id, at)).rowcount:
        transaction.execute("UPDATE objects SET appeared = max(?2, last_seen) WHERE memory_id = ?1", (memory_id, at))
        confirm(transaction, memory_id, at)


def transfer(transaction: Transaction, memory_id: int, by: int) -> None:
    """Give the stays of an object to the one that it turned out to be."""
    transaction.execute("UPDATE OR IGNORE stays SET memory_id = ? WHERE memory_id = ?", (by, memory_id))
    transaction.execute("DELETE FROM stays WHERE memory_id = ?", (memory_id,))
    transaction.execute(_DELETE_SECOND, (by,))


def reduce(transaction: Transaction, memory_id: int) -> None:
    """Leave of the stays of an object what its sightings tell, some of which were deleted."""
    for sql in _REDUCE:
        transaction.execute(sql, (memory_id,))


def during(snapshot: Snapshot, after: int, before: int) -> dict[int, PastStay]:
    """Return what was there in `[after, before)` otherwise than it is now, by id."""
    return {
        memory_id: PastStay(last, label, confidence, (x, y, z), area)
        for memory_id, last, label, confidence, x, y, z, area in snapshot.rows(_DURING, (after, before))
    }


def presences(snapshot: Snapshot, memory_ids: Iterable[int], now: int) -> dict[int, float]:
    """Return the probability that each object among some memories is still there, `now` by the robot's clock."""
    ids = json.dumps([*memory_ids])
    departures: dict[str, tuple[int, float]] = {}
    found = {}
    for memory_id, label, existence, looked_at, stayed, is_there in snapshot.rows(_LOOKED_AT, (ids,)):
        if label not in departures:
            departures[label] = snapshot.row(_DEPARTURES, (label,))
        rate = _rate(*departures[label], stayed if is_there else 0)
        found[memory_id] = round(existence * math.exp(-rate * max(now - looked_at, 0) / _HOUR), 3)
    return found


def leave_rate(snapshot: Snapshot, label: str, *, stayed: int) -> float:
    """Return how often an hour things of a label leave, with the nanoseconds of a stay that goes on.

    It is (1 + departures) / (24 h + hours of presence): the mean of a Gamma distribution, over the stays of this memory
    that have ended, and the object's own.
    """
    departures, presence = snapshot.row(_DEPARTURES, (label,))
    return _rate(departures, presence, stayed)


def _rate(departures: int, presence: float, stayed: int) -> float:
    return (1 + departures) / (_PRIOR + (presence + max(stayed, 0)) / _HOUR)
