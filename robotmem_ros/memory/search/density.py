"""How much was observed when: the bars of a timeline, and the objects that were sighted in a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .. import validation
from ..errors import InvalidFieldError
from ..models import Kind
from ..storage.snapshot import Snapshot
from ..times import Time
from .main_times import MainTimes, main_times

MAX_BINS = 1000
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


@dataclass(frozen=True)
class Density:
    """How many active memories of each kind were observed in each of some bins of time, equally long.

    An object is counted in each bin in which it was sighted, once for each sighting that was kept.
    """

    first: int | None
    """When the first thing was observed, in nanoseconds, bins or not; None if there is none."""
    last: int | None
    """When the last one was."""
    main: MainTimes | None
    """The times in which nearly all was observed; None if there is nothing."""
    start: int
    """Where the first bin begins, in nanoseconds."""
    width: int
    """Nanoseconds of a bin."""
    counts: dict[Kind, tuple[int, ...]]


@dataclass(frozen=True)
class DensityQuery:
    """A validated request for a density."""

    bins: int
    after: int | None
    before: int | None
    collection: str
    """Empty for all."""


def parse_density(
    *, bins: int = 100, after: Time | None = None, before: Time | None = None, collection: str | None = None
) -> DensityQuery:
    """Check all fields; no collection and `*` mean all.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    wanted = validation.whole("bins", bins, low=1, high=MAX_BINS)
    since, until = validation.window(after, before)
    if since is not None and until is not None and until <= since:
        raise InvalidFieldError("before", before, f"must be later than after, {since}")
    return DensityQuery(wanted, since, until, validation.collection("collection", collection, every=""))


def read_density(connection: Snapshot, query: DensityQuery, now: int) -> Density:
    """Count the active memories of each bin; without a window the bins reach from the oldest to the newest memory."""
    here, arguments = ("m.collection = ?4", (query.collection,)) if query.collection else ("true", ())
    first, last = _edges(connection, query)
    main = None
    if first is not None and last is not None:
        main = main_times(connection, query.collection, first, last, now)
    start = query.after if query.after is not None else (first or 0)
    end = query.before if query.before is not None else (start if last is None else last) + 1
    width = max(1, -(-(end - start) // query.bins))
    counts = {kind: [0] * query.bins for kind in Kind}
    rows = connection.rows(_COUNT.format(here=here), (start, width, end, *arguments))
    for place, kind, memories in rows:
        counts[Kind(kind)][place] += memories
    return Density(first, last, main, start, width, {kind: tuple(values) for kind, values in counts.items()})


def _edges(connection: Snapshot, query: DensityQuery) -> tuple[int | None, int | None]:
    here, arguments = ("m.collection = ?", (query.collection,)) if query.collection else ("true", ())
    oldest, newest = (connection.row(_EDGE.format(order=order, here=here), arguments) for order in ("ASC", "DESC"))
    if oldest is None:
        return None, None
    (sighted,) = connection.row(_FIRST_SIGHTING.format(here=here), arguments)
    return min(one for one in (oldest[0], sighted) if one is not None), newest[0]


class Sighted(NamedTuple):
    """An object that was sighted in some window, as it was at the last sighting there."""

    memory_id: int
    label: str
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    position: tuple[float, float, float]
    """Metres, in the frame of the object."""
    confidence: float
    """Of the sighting."""


def read_sighted(connection: Snapshot, after: int, before: int, n: int) -> tuple[Sighted, ...]:
    """Return the objects that were sighted in `[after, before)`, those sighted last first."""
    rows = connection.rows(_SIGHTED, (after, before, n))
    return tuple(Sighted(one, label, at, (x, y, z), confidence) for one, label, at, x, y, z, confidence in rows)
