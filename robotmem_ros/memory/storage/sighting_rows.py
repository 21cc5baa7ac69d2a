"""Write and read what looks tell of objects: their sightings, and their stays, from when until when each was there.

An object that has too many sightings loses some of them; its stays remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import persistence
from ..geometry import Point
from ..models import Sighting
from ..tracks import Stay
from ..validation import LATEST_NS
from . import revisions
from .snapshot import Snapshot, Transaction, json_array

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_SIGHTED = """
    SELECT m.id, m.label, max(s.observed_at), s.x, s.y, s.z, s.confidence FROM objects AS o
    CROSS JOIN memories AS m ON m.id = o.memory_id
    CROSS JOIN sightings AS s INDEXED BY idx_sightings_memory ON s.memory_id = o.memory_id
    AND s.observed_at >= ?1 AND s.observed_at < ?2
    WHERE o.last_seen >= ?1 AND o.first_seen < ?2 AND m.status = 'active'
    GROUP BY m.id ORDER BY max(s.observed_at) DESC, m.id LIMIT ?3
"""


class Sighted(NamedTuple):
    """An object sighted in a window of time, as it was at the last sighting there."""

    memory_id: int
    label: str
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    position: tuple[float, float, float]
    """Metres, in the frame of the object."""
    confidence: float
    """Confidence of the sighting."""


def read_sighted(snapshot: Snapshot, after: int, before: int, n: int) -> tuple[Sighted, ...]:
    """Return the objects that were sighted in `[after, before)`, those sighted last first."""
    rows = snapshot.rows(_SIGHTED, (after, before, n))
    return tuple(Sighted(key, label, at, (x, y, z), confidence) for key, label, at, x, y, z, confidence in rows)


def halve(transaction: Transaction, memory_id: int) -> int:
    """Remove every second sighting of an object, except the first and the last; return their number."""
    rows = transaction.rows(
        "SELECT id, subsampled FROM sightings WHERE memory_id = ? ORDER BY observed_at, id", (memory_id,)
    )
    # The second, the fourth and so on, but never the last. The sighting after a removed one counts it.
    pairs = list(pairwise(rows))[1::2]
    for (removed_id, subsampled), (stays, _) in pairs:
        transaction.execute("UPDATE sightings SET subsampled = subsampled + ? WHERE id = ?", (subsampled + 1, stays))
        transaction.execute("DELETE FROM sightings WHERE id = ?", (removed_id,))
    if pairs:
        revisions.touch(transaction, [memory_id])
    return len(pairs)


def drop(transaction: Transaction, memory_id: int, ids: Sequence[int]) -> None:
    """Remove sightings of an object; they stay counted."""
    rows = transaction.delete("sightings", "id", ids, returning="RETURNING subsampled")
    count = sum(subsampled + 1 for (subsampled,) in rows)
    first = transaction.row(
        "SELECT id, observed_at FROM sightings WHERE memory_id = ? ORDER BY observed_at, id LIMIT 1", (memory_id,)
    )
    if first is None:
        transaction.execute(
            "UPDATE objects SET subsampled = subsampled + ?, first_seen = last_seen WHERE memory_id = ?",
            (count, memory_id),
        )
    else:
        transaction.execute("UPDATE sightings SET subsampled = subsampled + ? WHERE id = ?", (count, first[0]))
        transaction.execute("UPDATE objects SET first_seen = ? WHERE memory_id = ?", (first[1], memory_id))


def counts(snapshot: Snapshot) -> dict[int, int]:
    """Return how many sightings each object has."""
    return dict(snapshot.rows("SELECT memory_id, count(*) FROM sightings GROUP BY memory_id"))


def labels(snapshot: Snapshot, memory_id: int) -> dict[str, int]:
    """Return how many stored sightings of an object gave each label."""
    sql = "SELECT label, count(*) FROM sightings WHERE memory_id = ? GROUP BY label"
    return dict(snapshot.rows(sql, (memory_id,)))


def first_times(snapshot: Snapshot, objects: Ids) -> npt.NDArray[np.int64]:
    """Return when each of some objects was sighted first, as far as is known, in no order."""
    sql = "SELECT o.first_seen AS id FROM json_each(?) AS j CROSS JOIN objects AS o ON o.memory_id = j.value"
    return snapshot.array(sql, (json_array(objects),))


def times(snapshot: Snapshot, objects: Ids) -> npt.NDArray[np.int64]:
    """Return the time of each stored sighting of some objects, in no order."""
    sql = "SELECT s.observed_at AS id FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.memory_id = j.value"
    return snapshot.array(sql, (json_array(objects),))


def last_until(snapshot: Snapshot, objects: Ids, at: int) -> npt.NDArray[np.int64]:
    """Return when each of some objects was sighted last until a time, as far as is kept; 0 for not at all."""
    sql = (
        "SELECT coalesce((SELECT max(observed_at) FROM sightings WHERE memory_id = j.value AND observed_at <= ?2), 0) "
        "AS id FROM json_each(?1) AS j ORDER BY j.key"
    )
    return snapshot.array(sql, (json_array(objects), at))


def counts_until(snapshot: Snapshot, objects: Ids, at: int) -> dict[int, int]:
    """Return by id how often some objects were sighted until a time, as far as kept sightings tell."""
    sql = (
        "SELECT j.value, (SELECT count(*) + coalesce(sum(subsampled), 0) FROM sightings "
        "WHERE memory_id = j.value AND observed_at <= ?2) FROM json_each(?1) AS j"
    )
    return dict(snapshot.rows(sql, (json_array(objects), at)))


def places(snapshot: Snapshot, objects: Ids) -> list[tuple[int, float, float, float]]:
    """Return the time and the position of each stored sighting of some objects, in no order."""
    sql = (
        "SELECT s.observed_at, s.x, s.y, s.z FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.memory_id = j.value"
    )
    return snapshot.rows(sql, (json_array(objects),))


def histories(snapshot: Snapshot, memory_ids: Sequence[int], n: int) -> dict[int, tuple[Sighting, ...]]:
    """Return the last `n` stored sightings of each object among memories, newest first."""
    sightings_by_object: dict[int, list[Sighting]] = {}
    # For each id the index by time ends at the n-th.
    for memory_id, observed_at, x, y, z, *rest in snapshot.rows(
        "SELECT s.memory_id, s.observed_at, s.x, s.y, s.z, s.confidence, s.label, s.subsampled "
        "FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.id IN (SELECT id FROM sightings "
        "WHERE memory_id = j.value ORDER BY observed_at DESC, id DESC LIMIT ?) "
        "ORDER BY s.memory_id, s.observed_at DESC, s.id DESC",
        (json_array(memory_ids), n),
    ):
        sightings_by_object.setdefault(memory_id, []).append(Sighting(observed_at, (x, y, z), *rest))
    return {memory_id: tuple(sightings) for memory_id, sightings in sightings_by_object.items()}


_PER_OBJECT, _IN_ALL = 1000, 100_000
"""Stays that are kept of an object, and of all: 13 MB with their indexes. The oldest go."""
_STAY = "memory_id, first_seen, last_seen, first_absent, label, confidence, x, y, z, area"
_AREA = "iif(json_type(m.context, '$.spatial.area') = 'text', json_extract(m.context, '$.spatial.area'), '')"
_END = f"""
    INSERT OR REPLACE INTO stays ({_STAY})
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, {_AREA} FROM memories AS m WHERE m.id = ?1
"""
_END_AT = f"""
    INSERT OR REPLACE INTO stays ({_STAY})
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
_IN_STAY = "FROM sightings AS s WHERE s.memory_id = ?1 AND s.observed_at BETWEEN stays.first_seen AND stays.last_seen"
_REDUCE = (
    f"DELETE FROM stays WHERE memory_id = ?1 AND NOT EXISTS (SELECT 1 {_IN_STAY})",
    f"""
    UPDATE OR REPLACE stays SET (first_seen, last_seen) = (SELECT min(s.observed_at), max(s.observed_at) {_IN_STAY})
    WHERE memory_id = ?1
    """,
    """
    UPDATE objects SET appeared = coalesce(
        (SELECT min(observed_at) FROM sightings WHERE memory_id = ?1 AND observed_at >= appeared), last_seen
    ) WHERE memory_id = ?1
    """,
)
# Of each object one look into the index, so that it takes no longer with more stays of an object.
_BEGUN = f"""
    SELECT {_STAY} FROM json_each(?) AS j CROSS JOIN stays ON stays.id = (
        SELECT id FROM stays WHERE memory_id = j.value AND first_seen < ? ORDER BY first_seen DESC LIMIT 1
    ) WHERE last_seen >= ? ORDER BY j.key
"""


_HOUR = 3600e9
_LOOKED_AT = """
    SELECT o.memory_id, m.label, m.confidence, max(o.last_seen, o.last_missed), o.last_seen - o.appeared, o.confirmed
    FROM json_each(?) AS j CROSS JOIN objects AS o ON o.memory_id = j.value JOIN memories AS m ON m.id = o.memory_id
"""
_LAST_STAYS = """
    SELECT last_seen - first_seen, first_absent - last_seen FROM stays WHERE label = ? AND first_absent <= ?
    ORDER BY first_absent DESC LIMIT ?
"""
_ENOUGH = 256
"""Stays of a label that tell how often its things leave, the last ones: more would not change it much."""


class EndedStays(NamedTuple):
    """Stays that have ended, each of another object, and the objects as they were in them: columns, in one order."""

    memory_ids: Ids
    """Ascending."""
    first_seen: Ids
    last_seen: Ids
    first_absent: Ids
    """The looks that found them gone."""
    labels: Sequence[str]
    confidence: Floats
    position: Floats
    """Metres, in the frame of the memory, a row for each."""
    areas: Sequence[str]
    """Empty without one."""


class Stayed(NamedTuple):
    """From when until when an object was at a place, in nanoseconds by the robot's clock."""

    first_seen: int
    last_seen: int
    first_absent: int | None
    """The look that found it gone; None of the stay that goes on."""
    label: str
    position: Point
    """Metres, in the frame of its memory."""
    area: str
    """Empty without one."""


def stays_of(snapshot: Snapshot, memory_id: int) -> tuple[Stayed, ...]:
    """Return the stays of an object, the earliest first, with the one that goes on."""
    sql = f"""
        SELECT first_seen, last_seen, first_absent, label, x, y, z, area FROM stays WHERE memory_id = ?1
        UNION ALL SELECT o.appeared, max(o.last_seen, o.appeared), NULL, m.label, m.x, m.y, m.z, {_AREA}
        FROM objects AS o JOIN memories AS m ON m.id = o.memory_id WHERE o.memory_id = ?1 AND o.confirmed ORDER BY 1
    """
    return tuple(
        Stayed(first, last, absent, label, (x, y, z), area)
        for first, last, absent, label, x, y, z, area in snapshot.rows(sql, (memory_id,))
    )


def save_stay(transaction: Transaction, memory_id: int, stay: Stay) -> None:
    """Save that a stay of an object ended; one that began, or goes on, is a part of its object."""
    if stay.end is None:
        continue_stay(transaction, memory_id)
        return
    *values, position = stay.end
    transaction.execute(_END, (memory_id, stay.first_seen, *values, *position))
    _cut(transaction, memory_id)


def end_stay(transaction: Transaction, memory_id: int, at: int) -> bool:
    """End the stay of an object as it is now, at a time of the robot's clock; return whether there was one."""
    if not transaction.execute(_END_AT, (memory_id, at)).rowcount:
        return False
    _cut(transaction, memory_id)
    return True


def continue_stay(transaction: Transaction, memory_id: int) -> None:
    """Let the last stay of an object go on that had ended."""
    transaction.execute(_GO_ON, (memory_id,))


def leave_place(transaction: Transaction, memory_id: int, at: int) -> None:
    """End the stay of an object that is carried away, and begin the next one, at a time of the robot's clock."""
    if end_stay(transaction, memory_id, at):
        transaction.execute("UPDATE objects SET appeared = max(?2, last_seen) WHERE memory_id = ?1", (memory_id, at))


def _cut(transaction: Transaction, memory_id: int) -> None:
    for sql, limit in zip(_CUT, (_IN_ALL, _PER_OBJECT), strict=True):
        transaction.execute(sql, (memory_id, limit))


def transfer_stays(transaction: Transaction, memory_id: int, by: int) -> None:
    """Give the stays of an object to the one that it turned out to be."""
    transaction.execute("UPDATE OR IGNORE stays SET memory_id = ? WHERE memory_id = ?", (by, memory_id))
    transaction.execute("DELETE FROM stays WHERE memory_id = ?", (memory_id,))


def reduce_stays(transaction: Transaction, memory_id: int) -> None:
    """Leave of the stays of an object what its sightings tell, some of which were deleted."""
    for sql in _REDUCE:
        transaction.execute(sql, (memory_id,))


def stays_during(snapshot: Snapshot, objects: Ids, after: int, before: int) -> EndedStays:
    """Return the last stay in `[after, before)` of each of some objects, ascending, of those that have ended since."""
    return _columns(snapshot.rows(_BEGUN, (json_array(objects), before, after)))


def _columns(records: Sequence[tuple[Any, ...]]) -> EndedStays:
    ids, first, last, absent, labels, confidence, x, y, z, areas = zip(*records, strict=True) if records else [()] * 10
    seen = np.array(first, np.int64), np.array(last, np.int64), np.array(absent, np.int64)
    position = np.array((x, y, z), np.float64).T
    return EndedStays(np.array(ids, np.int64), *seen, labels, np.array(confidence, np.float64), position, areas)


def stays_since(snapshot: Snapshot, time: int) -> npt.NDArray[np.int64]:
    """Return of each stay that ended after a time its id, its object, its first look and when the thing left, in rows.

    It left between the last look that saw it and the one that found it gone.
    """
    sql = "SELECT id, memory_id, first_seen, (last_seen + first_absent) / 2 FROM stays WHERE first_absent > ?"
    return np.array(snapshot.rows(sql, (time,)), np.int64).reshape(-1, 4)


def stays_by_ids(snapshot: Snapshot, ids: Ids) -> EndedStays:
    """Return some stays, each of another object."""
    sql = f"SELECT {_STAY} FROM json_each(?) AS j CROSS JOIN stays ON stays.id = j.value ORDER BY memory_id"
    return _columns(snapshot.rows(sql, (json_array(ids),)))


def first_absent(snapshot: Snapshot, memory_ids: Ids) -> dict[int, int]:
    """Return by id the look that ended the last stay of each of some objects, of those that had one."""
    sql = (
        "SELECT j.value, max(s.first_absent) FROM json_each(?) AS j CROSS JOIN stays AS s ON s.memory_id = j.value "
        "GROUP BY 1"
    )
    return dict(snapshot.rows(sql, (json_array(memory_ids),)))


def presences(snapshot: Snapshot, memory_ids: Iterable[int], now: int) -> dict[int, float]:
    """Return the probability that each object among some memories is still there, `now` by the robot's clock."""
    departures = Departures(snapshot)
    return {
        memory_id: still_there(existence, departures.leave_rate(label, stayed if is_there else 0), now - looked_at)
        for memory_id, label, existence, looked_at, stayed, is_there in snapshot.rows(
            _LOOKED_AT, (json_array(memory_ids),)
        )
    }


class Departures:
    """How often things of each label had left by a time, as the last stays in this memory tell; each is read once."""

    def __init__(self, snapshot: Snapshot, until: int = LATEST_NS) -> None:
        self._snapshot, self._until = snapshot, until
        self._of_label: dict[str, persistence.Departures] = {}

    def leave_rate(self, label: str, stayed: int) -> float:
        """Return how often an hour things of a label leave, with a stay that goes on for so many nanoseconds."""
        if label not in self._of_label:
            rows = self._snapshot.rows(_LAST_STAYS, (label, self._until, _ENOUGH))
            hours = tuple((seen / _HOUR, unseen / _HOUR) for seen, unseen in rows)
            self._of_label[label] = persistence.departures(hours)
        return self._of_label[label].leave_rate(stayed / _HOUR)


def still_there(existence: float, leave_rate: float, since: int) -> float:
    """Return the probability that a thing is still there, so many nanoseconds after the last look at it."""
    return round(persistence.after_time(existence, since / _HOUR, leave_rate=leave_rate), 3)
