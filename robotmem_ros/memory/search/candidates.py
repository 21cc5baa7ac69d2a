"""Turn the conditions of a query into candidates, by what only the database tells of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..conditions.attributes import Collections, Confidence, OneOf
from ..conditions.condition import Condition
from ..conditions.spatial import SinceLastVisit
from ..conditions.sql import ACTIVE, Sql
from ..storage.candidates import Candidates
from ..storage.collection_rows import sizes
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from .attributes import Tests
from .names import check_names
from .visits import last_visit


def find_candidates(
    snapshot: Snapshot,
    conditions: Iterable[Condition],
    *,
    include_inactive: bool = False,
    tests: Tests | None = None,
    none_faded: bool = False,
) -> Candidates:
    """Turn conditions into SQL, and into tests by attributes in RAM where there are such.

    With `none_faded` no memory of the snapshot has faded.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
        InvalidFieldError: a condition cannot be met in this database.
    """
    conditions = tuple(conditions)
    check_names(snapshot, conditions)
    summary = overview(snapshot)
    limits = [_complete(snapshot, limit, none_faded) for limit in conditions if limit.leaves_out_any(summary)]
    parts = [
        as_sql(snapshot, part, tests) for limit in limits for part in limit.parts() if part.leaves_out_any(summary)
    ]
    active = ACTIVE._replace(test=tests and tests.of(lambda attributes: attributes.is_active))
    return Candidates(tuple(parts if include_inactive else [active, *parts]))


def as_sql(snapshot: Snapshot, condition: Condition, tests: Tests | None) -> Sql:
    """Return one part of a condition in SQL, with its test in RAM where there is one."""
    sql = _sized(snapshot, condition)
    if tests is None:
        return sql
    if isinstance(condition, OneOf) and condition.name == "label":
        return sql._replace(test=tests.of_labels(snapshot, condition.values))
    return sql._replace(test=tests.of(condition.holds_for))


def _complete(snapshot: Snapshot, condition: Condition, none_faded: bool) -> Condition:
    # What only all memories together tell.
    if isinstance(condition, SinceLastVisit):
        return replace(condition, end=last_visit(snapshot, condition))
    if isinstance(condition, Confidence):
        return replace(condition, none_faded=none_faded)
    return condition


def _sized(snapshot: Snapshot, condition: Condition) -> Sql:
    # Collections are counted in a table of theirs.
    sql = condition.sql()
    if sql.source is None or not isinstance(condition, Collections):
        return sql
    size = sum(size for size, _ in sizes(snapshot, (*condition.names, *condition.of_notes)).values())
    return sql._replace(source=sql.source._replace(size=size))
