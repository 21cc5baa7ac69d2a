"""Find the times in which nearly all was observed, so that one wrong stamp does not hide the rest of a timeline."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..clocks import DAY
from ..storage.snapshot import Snapshot

_WEEK = 7 * DAY
_TAIL = 0.05
"""Share of the memories at each end that does not decide what is usual."""
_REACH = 10
"""An outlier lies farther away than this many times the span of all but the tails."""
# Forgotten memories count for what is usual: so the index alone answers, without a look at the rows.
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


class MainTimes(NamedTuple):
    """The times in which all was observed but a few outliers: much older memories, and some from the future."""

    start: int
    """Nanoseconds; when the first thing was observed that is no outlier."""
    end: int
    """When the last one was."""
    earlier: int
    """How many active memories were observed before `start`."""
    later: int
    """How many were observed after `end`."""


def main_times(connection: Snapshot, collection: str, first: int, last: int, now: int) -> MainTimes:
    """Return the main times of what was observed from `first` until `last`; without a collection of all memories."""
    if last - first <= _WEEK:
        return MainTimes(first, last, 0, 0)
    here, named = ("collection = :collection", {"collection": collection}) if collection else ("true", {})

    def number(sql: str, **values: int) -> int | None:
        value: int | None = connection.row(sql.format(here=here), {**named, **values})[0]
        return value

    greatest = (number(_NUMBER) or 1) - 1
    low = number(_AT, offset=math.ceil(_TAIL * greatest)) or 0
    high = number(_AT, offset=math.floor((1 - _TAIL) * greatest)) or 0
    reach = max(_REACH * (high - low), _WEEK)
    since, until = low - reach, max(high + reach, now)
    start = number(_FIRST, edge=since) if first < since else first
    end = number(_LAST, edge=until) if last > until else last
    if start is None or end is None:  # what is usual was forgotten
        return MainTimes(first, last, 0, 0)
    return MainTimes(start, end, number(_EARLIER, edge=start) or 0, number(_LATER, edge=end) or 0)
