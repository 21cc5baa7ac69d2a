"""Read when memories were observed: the first and last time, numbers in bins of time, and sighted objects.

Nearly all observations lie in the main times, so that a wrong stamp does not hide the timeline.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..clocks import DAY
from ..conditions.decay import Decay
from ..models import Pose
from .candidates import Candidates
from .snapshot import Snapshot

_WEEK = 7 * DAY
_TAIL = 0.05
"""Share of the memories at each end that the main times ignore at first."""
_REACH = 10
"""Least distance of an outlier, in spans of all memories but the tails."""
# Forgotten memories count for the main times, so that the index alone is read.
_NUMBER = "SELECT count(*) FROM memories WHERE {here}"
_AT = "SELECT observed_at FROM memories WHERE {here} ORDER BY observed_at LIMIT 1 OFFSET :offset"
_ACTIVE = "FROM memories INDEXED BY idx_mem_observed WHERE status = 'active' AND {here} AND observed_at"
_EARLIER, _LATER = (f"SELECT count(*) {_ACTIVE} {than} :edge" for than in "<>")
_LAST = f"SELECT max(observed_at) {_ACTIVE} <= :edge"
# A memory of an object has the time of its last sighting alone.
_FIRST = f"""
    SELECT min(at) FROM (SELECT min(observed_at) AS at {_ACTIVE} >= :edge UNION ALL
    SELECT min(first_seen) FROM objects JOIN memories ON memories.id = objects.memory_id
    WHERE status = 'active' AND {{here}} AND first_seen >= :edge)
"""
_EDGE = """
    SELECT m.observed_at FROM memories AS m INDEXED BY idx_mem_observed WHERE m.status = 'active' AND {here}
    ORDER BY m.observed_at {order} LIMIT 1
"""
_FIRST_SIGHTING = """
    SELECT min(o.first_seen) FROM objects AS o JOIN memories AS m ON m.id = o.memory_id
    WHERE m.status = 'active' AND {here}
"""
# An object counts whenever it was sighted; its memory has the time of the last sighting alone.
_COUNT = """
    SELECT (m.observed_at - ?1) / ?2 AS bin, m.type, count(*) FROM memories AS m INDEXED BY idx_mem_observed
    WHERE m.observed_at >= ?1 AND m.observed_at < ?3 AND m.status = 'active' AND {here}
    AND NOT EXISTS (SELECT 1 FROM objects AS o WHERE o.memory_id = m.id) GROUP BY bin, m.type
    UNION ALL
    SELECT (s.observed_at - ?1) / ?2 AS bin, m.type, count(*) FROM objects AS o
    CROSS JOIN memories AS m ON m.id = o.memory_id
    CROSS JOIN sightings AS s INDEXED BY idx_sightings_memory ON s.memory_id = o.memory_id
    AND s.observed_at >= ?1 AND s.observed_at < ?3
    WHERE o.last_seen >= ?1 AND o.first_seen < ?3 AND m.status = 'active' AND {here} GROUP BY bin, m.type
"""
_SIGHTED = """
    SELECT m.id, m.label, max(s.observed_at), s.x, s.y, s.z, s.confidence FROM objects AS o
    CROSS JOIN memories AS m ON m.id = o.memory_id
    CROSS JOIN sightings AS s INDEXED BY idx_sightings_memory ON s.memory_id = o.memory_id
    AND s.observed_at >= ?1 AND s.observed_at < ?2
    WHERE o.last_seen >= ?1 AND o.first_seen < ?2 AND m.status = 'active'
    GROUP BY m.id ORDER BY max(s.observed_at) DESC, m.id LIMIT ?3
"""
_ENTRY = f"""
    m.id, m.observed_at, m.type, m.category, m.label, m.tags, substr(m.content, 1, {{length}}), m.collection,
    m.session_id, {{confidence}}, m.status, m.frame_id, m.map_id, {", ".join(f"m.{axis}" for axis in Pose._fields)}
"""


class MainTimes(NamedTuple):
    """The times of all observations but a few outliers: much older memories, and some from the future."""

    start: int
    """Time in nanoseconds of the first observation that is no outlier."""
    end: int
    """Time of the last observation that is no outlier."""
    earlier: int
    """Number of active memories observed before `start`."""
    later: int
    """Number of active memories observed after `end`."""


def main_times(snapshot: Snapshot, collection: str, first: int, last: int, now: int) -> MainTimes:
    """Return the main times of observations from `first` until `last`, in a collection or in all if it is empty."""
    if last - first <= _WEEK:
        return MainTimes(first, last, 0, 0)
    condition, arguments = ("collection = :collection", {"collection": collection}) if collection else ("true", {})

    def number(sql: str, **values: int) -> int | None:
        value: int | None = snapshot.row(sql.format(here=condition), {**arguments, **values})[0]
        return value

    greatest = (number(_NUMBER) or 1) - 1
    low = number(_AT, offset=math.ceil(_TAIL * greatest)) or 0
    high = number(_AT, offset=math.floor((1 - _TAIL) * greatest)) or 0
    reach = max(_REACH * (high - low), _WEEK)
    since, until = low - reach, max(high + reach, now)
    start = number(_FIRST, edge=since) if first < since else first
    end = number(_LAST, edge=until) if last > until else last
    if start is None or end is None:  # all memories of the main times were forgotten
        return MainTimes(first, last, 0, 0)
    return MainTimes(start, end, number(_EARLIER, edge=start) or 0, number(_LATER, edge=end) or 0)


def edges(snapshot: Snapshot, collection: str) -> tuple[int | None, int | None]:
    """Return the times of the first and last observation, in a collection or in all if it is empty."""
    condition, arguments = ("m.collection = ?", (collection,)) if collection else ("true", ())
    oldest, newest = (snapshot.row(_EDGE.format(order=order, here=condition), arguments) for order in ("ASC", "DESC"))
    if oldest is None:
        return None, None
    (sighted,) = snapshot.row(_FIRST_SIGHTING.format(here=condition), arguments)
    return min(time for time in (oldest[0], sighted) if time is not None), newest[0]


def binned(snapshot: Snapshot, collection: str, start: int, width: int, end: int) -> list[tuple[int, str, int]]:
    """Count observations in `[start, end)`: number of the bin, kind, and memories; a bin and kind may come twice."""
    condition, arguments = ("m.collection = ?4", (collection,)) if collection else ("true", ())
    return snapshot.rows(_COUNT.format(here=condition), (start, width, end, *arguments))


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


def page(
    snapshot: Snapshot, candidates: Candidates, decay: Decay, n: int, *, oldest_first: bool, length: int
) -> list[tuple[Any, ...]]:
    """Return the first `n` candidates by the time of their observation: what a page tells of each.

    Of its content so many characters are read.
    """
    memories, confidence = candidates.by_time(), decay.confidence()
    order = "ASC" if oldest_first else "DESC"
    return snapshot.rows(
        f"SELECT {_ENTRY.format(confidence=confidence.sql, length=length)} {memories.sql} "
        f"ORDER BY m.observed_at {order}, m.id {order} LIMIT ?",
        (*confidence.arguments, *memories.arguments, n),
    )
