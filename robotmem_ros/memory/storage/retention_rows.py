"""Select the memories that a budget evicts, the least useful first, and count and delete them.

Memories are evicted in this order: what other robots made, which must not push out what this one made; then by
protection, then by

    usefulness = confidence * (1 + 4 * n / (n + 4)) / (1 + days / 100)

then by time of observation, then by id, ascending.

- `confidence` is the stored one; recency is a factor of its own.
- `n` is the number of recalls. The factor grows from 1 to 5, and four recalls give half of that: a memory recalled once
  a year must not yield to a memory that was recalled a thousand times in one afternoon.
- `days` is the time since the last observation or recall. The decline is
  hyperbolic, half after 100 days and a quarter after 300, as human forgetting is (Wixted and Ebbesen 1991, "On the form
  of forgetting": power functions fit it better than exponentials), so that an old memory of great use still outlives
  a new one of none. Constraints, hazards and preferences do not age. A time that cannot be compared with the clock,
  since only one of them is of a simulation, is that of now.

Protection, from those that are evicted first to those that stay longest:

0. withdrawn: forgotten or superseded;
1. all others;
2. facts that are not consolidated yet: active ones of a session that is still open, or waits for it;
3. constraints and named places.

Age budgets evict no memory of protection 2 or 3, and count lived days (lived_days.py). What was saved while the clock
stood back is as old as the lived days before it tell. No budget evicts or counts notes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..clocks import DAY, comparable_since
from ..conditions.decay import IS_UNFADING
from ..config.budgets import Budget, Measure
from ..models import Kind
from . import lived_days, rows
from .disk import pages_limit
from .rows import OF_OTHERS
from .snapshot import Snapshot, Transaction, json_array

_AGE_PROTECTED = 2
"""Protection from which age alone evicts no memory."""
PROTECTION = (
    "CASE WHEN m.status <> 'active' THEN 0 WHEN m.category = 'constraint' OR m.perception_type = 'place' THEN 3 "
    "WHEN m.type = 'fact' AND m.session_id <> '' AND EXISTS "
    "(SELECT 1 FROM sessions AS s WHERE s.external_id = m.session_id AND s.superseded IS NULL) THEN 2 ELSE 1 END"
)
_LAST_USE = "max(m.observed_at, m.received_at, m.recalled_at)"
_BEHIND = (
    f"max(0, {DAY} * coalesce((SELECT max(day) FROM lived_days WHERE after_id < m.id AND day <= :today), 0) "
    "- CAST(strftime('%s', m.created_at) AS INTEGER) * 1000000000)"
)
"""Least error in nanoseconds of a clock that was slow when a memory was saved."""
_AGE = f"CASE WHEN {_LAST_USE} < :comparable THEN 0 ELSE max(0, :now - {_LAST_USE}) END"
_DAYS = f"CASE WHEN {IS_UNFADING} THEN 0.0 ELSE ({_AGE}) / {float(DAY)!r} END"
USEFULNESS = f"m.confidence * (1.0 + 4.0 * m.access_count / (m.access_count + 4)) / (1.0 + {_DAYS} / 100.0)"
"""SQL over the alias `m` of memories, with the named arguments of `moment`."""
LEAST_USEFUL_FIRST = (
    f"({OF_OTHERS.format(column='m.collection')}) DESC, {PROTECTION}, {USEFULNESS}, m.observed_at, m.id"
)
# The bytes of texts, context and data, without their share of the indexes.
_PAYLOAD = " + ".join(
    f"coalesce(length(CAST(m.{column} AS BLOB)), 0)"
    for column in ("content", "human_summary", "context", "perception_data", "perception_metadata")
)
_LEAST_FILE_STEP = 32
"""A page is free only when all its rows are gone: fewer would often free nothing."""


class EvictionCandidate(NamedTuple):
    """A memory to be evicted, as it was when it was selected."""

    memory_id: int
    collection: str
    kind: Kind
    protection: int
    usefulness: float
    payload: int
    """Bytes of texts, context and data."""
    content: str
    version: tuple[str, int]
    """Time of the last change, and number of recalls: a memory that was used since is not evicted."""


def moment(now: int) -> dict[str, int]:
    """Return the arguments of the order at a time of the robot's clock, in nanoseconds."""
    return {"now": now, "comparable": comparable_since(now)}


def eviction_candidates(
    snapshot: Snapshot, budget: Budget, *, now: int, used_bytes: int, limit: int, excluded_ids: Collection[int] = ()
) -> list[EvictionCandidate]:
    """Return the first memories to be evicted for a budget, at most `limit`, without those in `excluded_ids`.

    `now` is the robot's clock in nanoseconds, `used_bytes` the bytes of the file's pages in use.
    """
    scope, arguments = _scope(budget, excluded_ids)
    arguments |= moment(now) | {"limit": limit}
    if budget.measure is Measure.AGE:
        arguments |= {"older_than": lived_days.reach(snapshot, budget.limit, now), "today": time.time_ns() // DAY}
        old = f"{PROTECTION} < {_AGE_PROTECTED} AND {_LAST_USE} < :older_than AND {_LAST_USE} >= :comparable"
        old += f" AND {_LAST_USE} + {_BEHIND} < :older_than"
        return _read(snapshot, f"{scope} AND {old}", arguments)
    count, payload = _totals(snapshot, scope, arguments)
    if budget.measure is Measure.ROWS:
        arguments["limit"] = min(limit, count - budget.limit)
        return _read(snapshot, scope, arguments) if count > budget.limit else []
    if budget.measure is Measure.BYTES:
        over, memory_overhead, at_least = payload - budget.limit, 0, 1
    else:
        over, at_least = used_bytes - pages_limit(budget.limit), _LEAST_FILE_STEP
        memory_overhead = overhead(snapshot, used_bytes, excluded_ids)
    if over <= 0:
        return []
    candidates = _read(snapshot, scope, arguments)
    total = 0
    for number, candidate in enumerate(candidates, start=1):
        total += candidate.payload + memory_overhead
        if total >= over and number >= at_least:
            return candidates[:number]
    return candidates


def overhead(snapshot: Snapshot, used_bytes: int, excluded_ids: Collection[int] = ()) -> int:
    """Estimate how many bytes of the pages in use a memory takes beside its payload: indexes, vector and gaps."""
    count, payload = _totals(snapshot, *_scope(Budget(Measure.FILE, 0), excluded_ids))
    return int(max(used_bytes - payload, 0) // max(count, 1))


def evict(transaction: Transaction, candidates: Sequence[EvictionCandidate], reason: str) -> list[EvictionCandidate]:
    """Delete the candidates that have not changed since they were selected; count and return them."""
    records = transaction.rows(
        "SELECT id, updated_at, access_count FROM memories WHERE id IN (SELECT value FROM json_each(?))",
        (json_array(candidate.memory_id for candidate in candidates),),
    )
    versions = {memory_id: tuple(version) for memory_id, *version in records}
    evictions = [candidate for candidate in candidates if versions.get(candidate.memory_id) == candidate.version]
    rows.delete(transaction, [candidate.memory_id for candidate in evictions])
    count_removed(transaction, reason, Counter(candidate.kind.value for candidate in evictions))
    return evictions


_REMOVED = "removed "
"""Begins the names of counters in the settings; the measure of the budget and the kind follow."""


def count_removed(transaction: Transaction, reason: str, kinds: Mapping[str, int]) -> None:
    """Add to the counters of removed memories and sightings."""
    transaction.executemany(
        "INSERT INTO settings VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + ?2",
        [(f"{_REMOVED}{reason} {kind}", n) for kind, n in kinds.items() if n],
    )


def removal_counts(snapshot: Snapshot) -> dict[tuple[str, str], int]:
    """Return how much retention removed so far, by reason and kind."""
    rows = snapshot.rows("SELECT name, value FROM settings WHERE name GLOB ?", (f"{_REMOVED}*",))
    names = [name.removeprefix(_REMOVED).split() for name, _ in rows]
    return {(reason, kind): int(n) for (reason, kind), (_, n) in zip(names, rows, strict=True)}


def _scope(budget: Budget, excluded_ids: Collection[int]) -> tuple[str, dict[str, Any]]:
    # The memories that a budget counts, as SQL over the alias `m`, with its arguments.
    # Notes are left out: they would come back from their files.
    conditions, arguments = ["m.type <> 'note'"], dict[str, Any]()
    if budget.collection is not None:
        conditions.append("m.collection = :collection")
        arguments["collection"] = budget.collection
    if budget.kind is not None:
        conditions.append("m.type = :kind")
        arguments["kind"] = budget.kind.value
    if excluded_ids:
        conditions.append("m.id NOT IN (SELECT value FROM json_each(:gone))")
        arguments["gone"] = json_array(excluded_ids)
    return " AND ".join(conditions), arguments


def _totals(snapshot: Snapshot, scope: str, arguments: Mapping[str, Any]) -> tuple[int, int]:
    # The number of memories, and the bytes of their payload.
    count, payload = snapshot.row(
        f"SELECT count(*), coalesce(sum({_PAYLOAD}), 0) FROM memories AS m WHERE {scope}", arguments
    )
    return count, payload


def _read(snapshot: Snapshot, scope: str, arguments: Mapping[str, Any]) -> list[EvictionCandidate]:
    # Selects the ids first, so that only the texts of the results are sorted.
    records = snapshot.rows(
        f"SELECT m.id, m.collection, m.type, {PROTECTION}, {USEFULNESS}, {_PAYLOAD}, m.content, m.updated_at, "
        f"m.access_count FROM memories AS m WHERE m.id IN (SELECT m.id FROM memories AS m WHERE {scope} "
        f"ORDER BY {LEAST_USEFUL_FIRST} LIMIT :limit) ORDER BY {LEAST_USEFUL_FIRST}",
        arguments,
    )
    return [
        EvictionCandidate(memory_id, collection, Kind(kind), protection, value, payload, content, (changed_at, recalls))
        for memory_id, collection, kind, protection, value, payload, content, changed_at, recalls in records
    ]
