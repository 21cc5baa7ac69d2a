"""Turn the conditions of a query into candidates, by what only the database tells of these."""

from __future__ import annotations

from collections.abc import Iterable

from ..conditions.attributes import Collections, Lasting
from ..conditions.condition import Condition
from ..conditions.sql import ACTIVE, Sql
from ..storage.candidates import Candidates
from ..storage.collection_rows import sizes
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from .attributes import Tests


def find_candidates(
    snapshot: Snapshot,
    conditions: Iterable[Condition],
    *,
    include_inactive: bool = False,
    tests: Tests | None = None,
) -> Candidates:
    """Turn complete conditions into SQL, and into tests by attributes in RAM where there are such."""
    summary = overview(snapshot)
    limits = [limit for limit in conditions if limit.leaves_out_any(summary)]
    parts = [
        as_sql(snapshot, part, tests) for limit in limits for part in limit.parts() if part.leaves_out_any(summary)
    ]
    active = ACTIVE._replace(test=tests and tests.of(lambda attributes: attributes.is_active))
    return Candidates(tuple(parts if include_inactive else [active, *parts]))


def as_sql(snapshot: Snapshot, condition: Condition, tests: Tests | None) -> Sql:
    """Return one part of a condition in SQL, with its test in RAM where there is one."""
    return _sized(snapshot, condition, tests)._replace(test=tests and condition.in_ram(tests))


def _sized(snapshot: Snapshot, condition: Condition, tests: Tests | None) -> Sql:
    # Collections are counted in a table of theirs, and what lasts in RAM.
    sql, size = condition.sql(), None
    if isinstance(condition, Collections):
        size = sum(size for size, _ in sizes(snapshot, (*condition.names, *condition.of_notes)).values())
    elif isinstance(condition, Lasting) and tests:
        size = tests.count_fresh(condition.of.decay)
    return sql if sql.source is None or size is None else sql._replace(source=sql.source._replace(size=size))
