"""Who has to go for one budget, the least useful first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import Any, NamedTuple

from ..config.budgets import Budget, Measure
from ..models import Kind
from .file_size import pages_limit
from .usefulness import PROTECTION, SPARED, moment, order

# The octets of what was given to be remembered; its share of the indexes is not counted.
PAYLOAD = " + ".join(
    f"coalesce(length(CAST(m.{column} AS BLOB)), 0)"
    for column in ("content", "human_summary", "context", "perception_data", "perception_metadata")
)
_LEAST_FILE_STEP = 32
"""A page is free only when all its rows are gone: fewer would often free nothing."""


class Leaving(NamedTuple):
    """A memory that has to go, as it was when that was decided."""

    memory_id: int
    collection: str
    kind: Kind
    protection: int
    usefulness: float
    payload: int
    """Octets of texts, context and data."""
    content: str
    version: tuple[str, int]
    """When it was last changed, and how often it was recalled: what was used meanwhile does not go."""


def leaving(
    connection: sqlite3.Connection, budget: Budget, *, now: int, used: int, limit: int, gone: Collection[int] = ()
) -> list[Leaving]:
    """The first memories that have to go for a budget, at most `limit`; those in `gone` count as gone already.

    `now` is the robot's clock in nanoseconds, `used` the bytes of the file's pages in use.
    """
    scope = _scope(budget, gone)
    if budget.measure is Measure.AGE:
        return _read(connection, scope, now, limit, older_than=now - budget.limit)
    if budget.measure is Measure.ROWS:
        count = f"SELECT count(*) FROM memories AS m WHERE {scope.sql}"
        excess = connection.execute(count, scope.arguments).fetchone()[0] - budget.limit
        return _read(connection, scope, now, min(limit, excess)) if excess > 0 else []
    if budget.measure is Measure.BYTES:
        (size,) = connection.execute(
            f"SELECT coalesce(sum({PAYLOAD}), 0) FROM memories AS m WHERE {scope.sql}", scope.arguments
        ).fetchone()
        excess = size - budget.limit
        return _up_to(_read(connection, scope, now, limit), excess) if excess > 0 else []
    excess = used - pages_limit(budget.limit)
    if excess <= 0:
        return []
    each = overhead(connection, used, gone)
    return _up_to(_read(connection, scope, now, limit), excess, overhead=each, at_least=_LEAST_FILE_STEP)


def overhead(connection: sqlite3.Connection, used: int, gone: Collection[int] = ()) -> int:
    """About how many bytes of the pages in use a memory takes beside its payload, for indexes, vector and gaps."""
    scope = _scope(Budget(Measure.FILE, 0), gone)
    count, payload = connection.execute(
        f"SELECT count(*), coalesce(sum({PAYLOAD}), 0) FROM memories AS m WHERE {scope.sql}", scope.arguments
    ).fetchone()
    return int(max(used - payload, 0) // max(count, 1))


class _Scope(NamedTuple):
    sql: str
    arguments: dict[str, Any]


def _scope(budget: Budget, gone: Collection[int]) -> _Scope:
    conditions, arguments = ["1"], {}
    if budget.collection is not None:
        conditions.append("m.collection = :collection")
        arguments["collection"] = budget.collection
    if budget.kind is not None:
        conditions.append("m.type = :kind")
        arguments["kind"] = budget.kind.value
    if gone:
        conditions.append("m.id NOT IN (SELECT value FROM json_each(:gone))")
        arguments["gone"] = json.dumps(list(gone))
    return _Scope(" AND ".join(conditions), arguments)


def _read(
    connection: sqlite3.Connection, scope: _Scope, now: int, limit: int, older_than: int | None = None
) -> list[Leaving]:
    by = order()
    arguments = {**scope.arguments, **moment(now), "limit": limit, "older_than": older_than}
    too_old = (
        f"AND {PROTECTION} < {SPARED} AND {by.last_use} < :older_than AND {by.last_use} >= :comparable"
        if older_than is not None
        else ""
    )
    # The ids first: the texts of all others need not be carried through the sorting.
    rows = connection.execute(
        f"SELECT m.id, m.collection, m.type, {PROTECTION}, {by.usefulness}, {PAYLOAD}, m.content, m.updated_at, "
        f"m.access_count FROM memories AS m WHERE m.id IN (SELECT m.id FROM memories AS m WHERE {scope.sql} {too_old} "
        f"ORDER BY {by.least_useful_first} LIMIT :limit) ORDER BY {by.least_useful_first}",
        arguments,
    )
    return [
        Leaving(memory_id, collection, Kind(kind), protection, value, payload, content, (updated_at, recalls))
        for memory_id, collection, kind, protection, value, payload, content, updated_at, recalls in rows
    ]


def _up_to(candidates: list[Leaving], excess: int, *, overhead: int = 0, at_least: int = 1) -> list[Leaving]:
    total = 0
    for index, candidate in enumerate(candidates):
        total += candidate.payload + overhead
        if total >= excess and index + 1 >= at_least:
            return candidates[: index + 1]
    return candidates
