"""Write the stays of objects, and read them back: from when until when each was at its place, as far as looks tell."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..geometry import Point
from ..tracks import Stay
from ..validation import LATEST_NS
from .snapshot import Snapshot, Transaction, json_array

Ids = npt.NDArray[np.int64]
_PER_OBJECT, _IN_ALL = 1000, 100_000
"""Stays that are kept of an object, and of all: 10 MB with their indexes. The oldest go."""
_COLUMNS = "memory_id, first_seen, last_seen, first_absent, label, confidence, x, y, z, area"
_AREA = "iif(json_type(m.context, '$.spatial.area') = 'text', json_extract(m.context, '$.spatial.area'), '')"
_END = f"""
    INSERT OR REPLACE INTO stays ({_COLUMNS})
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, {_AREA} FROM memories AS m WHERE m.id = ?1
"""
_END_AT = f"""
    INSERT OR REPLACE INTO stays ({_COLUMNS})
    SELECT o.memory_id, o.appeared, max(o.last_seen, o.appeared), max(?2, o.last_seen), m.label, o.sure, m.x, m.y, m.z,
    {_AREA} FROM objects AS o JOIN memories AS m ON m.id = o.memory_id WHERE o.memory_id = ?1 AND o.confirmed
"""
_CUT = (
    "DELETE FROM stays WHERE id <= (SELECT max(id) FROM stays) - ?2",
    """
    DELETE FROM stays WHERE id IN (
        SELECT id FROM stays WHERE memory_id = ?1 ORDER BY first_seen DESC LIMIT -1 OFFSET ?2
    )
    """,
)
_GO_ON = (
    "DELETE FROM stays WHERE (memory_id, first_seen) = (SELECT memory_id, appeared FROM objects WHERE memory_id = ?)"
)
_SIGHTED = "FROM sightings AS s WHERE s.memory_id = ?1 AND s.observed_at BETWEEN stays.first_seen AND stays.last_seen"
_REDUCE = (
    f"DELETE FROM stays WHERE memory_id = ?1 AND NOT EXISTS (SELECT 1 {_SIGHTED})",
    f"""
    UPDATE OR REPLACE stays SET (first_seen, last_seen) = (SELECT min(s.observed_at), max(s.observed_at) {_SIGHTED})
    WHERE memory_id = ?1
    """,
    """
    UPDATE objects SET appeared = coalesce(
        (SELECT min(observed_at) FROM sightings WHERE memory_id = ?1 AND observed_at >= appeared), last_seen
    ) WHERE memory_id = ?1
    """,
)
# From one object that has stays to the next one, and of each the last stay that begins before a time. So it takes no
# longer with more stays of an object.
_BEGUN = f"""
    WITH RECURSIVE owner (id) AS (
        SELECT min(memory_id) FROM stays
        UNION ALL SELECT (SELECT min(memory_id) FROM stays WHERE memory_id > owner.id) FROM owner WHERE id NOT NULL
    )
    SELECT {_COLUMNS} FROM owner CROSS JOIN stays ON stays.id = (
        SELECT id FROM stays WHERE memory_id = owner.id AND first_seen < ? ORDER BY first_seen DESC LIMIT 1
    ) WHERE last_seen >= ?
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
    SELECT count(*), total((last_seen + first_absent) / 2 - first_seen) FROM stays WHERE label = ? AND first_absent <= ?
"""


class EndedStay(NamedTuple):
    """A stay of an object that has ended, and the object as it was in it."""

    first_seen: int
    last_seen: int
    first_absent: int
    """The look that found it gone."""
    label: str
    confidence: float
    position: Point
    """Metres, in the frame of its memory."""
    area: str
    """Empty without one."""


def save(transaction: Transaction, memory_id: int, stay: Stay) -> None:
    """Save that a stay of an object ended; one that began, or goes on, is a part of its object."""
    if stay.end is None:
        go_on(transaction, memory_id)
        return
    *values, position = stay.end
    transaction.execute(_END, (memory_id, stay.first_seen, *values, *position))
    _cut(transaction, memory_id)


def end(transaction: Transaction, memory_id: int, at: int) -> bool:
    """End the stay of an object as it is now, at a time of the robot's clock; return whether there was one."""
    if not transaction.execute(_END_AT, (memory_id, at)).rowcount:
        return False
    _cut(transaction, memory_id)
    return True


def go_on(transaction: Transaction, memory_id: int) -> None:
    """Let the last stay of an object go on that had ended."""
    transaction.execute(_GO_ON, (memory_id,))


def leave(transaction: Transaction, memory_id: int, at: int) -> None:
    """End the stay of an object that is carried away, and begin the next one, at a time of the robot's clock."""
    if end(transaction, memory_id, at):
        transaction.execute("UPDATE objects SET appeared = max(?2, last_seen) WHERE memory_id = ?1", (memory_id, at))


def _cut(transaction: Transaction, memory_id: int) -> None:
    for sql, limit in zip(_CUT, (_IN_ALL, _PER_OBJECT), strict=True):
        transaction.execute(sql, (memory_id, limit))


def transfer(transaction: Transaction, memory_id: int, by: int) -> None:
    """Give the stays of an object to the one that it turned out to be."""
    transaction.execute("UPDATE OR IGNORE stays SET memory_id = ? WHERE memory_id = ?", (by, memory_id))
    transaction.execute("DELETE FROM stays WHERE memory_id = ?", (memory_id,))


def reduce(transaction: Transaction, memory_id: int) -> None:
    """Leave of the stays of an object what its sightings tell, some of which were deleted."""
    for sql in _REDUCE:
        transaction.execute(sql, (memory_id,))


def during(snapshot: Snapshot, after: int, before: int) -> dict[int, EndedStay]:
    """Return by id the last stay of each object in `[after, before)`, of those that have ended since."""
    return {
        memory_id: EndedStay(first, last, absent, label, confidence, (x, y, z), area)
        for memory_id, first, last, absent, label, confidence, x, y, z, area in snapshot.rows(_BEGUN, (before, after))
    }


def first_absent(snapshot: Snapshot, memory_ids: Ids) -> dict[int, int]:
    """Return by id the look that ended the last stay of each of some objects, of those that had one."""
    sql = (
        "SELECT j.value, max(s.first_absent) FROM json_each(?) AS j CROSS JOIN stays AS s ON s.memory_id = j.value "
        "GROUP BY 1"
    )
    return dict(snapshot.rows(sql, (json_array(memory_ids),)))


def presences(snapshot: Snapshot, memory_ids: Iterable[int], now: int) -> dict[int, float]:
    """Return the probability that each object among some memories is still there, `now` by the robot's clock."""
    departures: dict[str, tuple[int, float]] = {}
    found = {}
    for memory_id, label, existence, looked_at, stayed, is_there in snapshot.rows(
        _LOOKED_AT, (json_array(memory_ids),)
    ):
        if label not in departures:
            departures[label] = _departures(snapshot, label, LATEST_NS)
        found[memory_id] = still_there(existence, _rate(*departures[label], stayed if is_there else 0), now - looked_at)
    return found


def leave_rate(snapshot: Snapshot, label: str, *, stayed: int, until: int = LATEST_NS) -> float:
    """Return how often an hour things of a label leave, as far as was known at a time, with a stay that goes on.

    It is (1 + departures) / (24 h + hours of presence): the mean of a Gamma distribution, over the stays of this memory
    that had ended, and the object's own, which lasts for `stayed` nanoseconds.
    """
    return _rate(*_departures(snapshot, label, until), stayed)


def still_there(existence: float, rate: float, since: int) -> float:
    """Return the probability that a thing is still there, so many nanoseconds after the last look at it."""
    return round(existence * math.exp(-rate * max(since, 0) / _HOUR), 3)


def _departures(snapshot: Snapshot, label: str, until: int) -> tuple[int, float]:
    count, presence = snapshot.row(_DEPARTURES, (label, until))
    return int(count), float(presence)


def _rate(departures: int, presence: float, stayed: int) -> float:
    return (1 + departures) / (_PRIOR + (presence + max(stayed, 0)) / _HOUR)
