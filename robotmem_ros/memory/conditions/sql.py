"""Conditions in SQL: an expression that tests one memory, and beside it a list of ids, where an index has one.

Both are made of one text by `index_test` and `rows`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Test = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
"""Tells of which of some ids something holds, and of an id without a memory that it does not."""

_GROUP = 50
_MOST_UNITED = 100


class Source(NamedTuple):
    """A SELECT that gives the memories under a condition from an index, each once, as a column named `id`."""

    sql: str
    arguments: tuple[object, ...]
    size: int | None = None
    """Number of the memories, about, where it need not be counted."""


class Sql(NamedTuple):
    """An SQL expression over the alias `m` of memories, cheap for one memory at a time.

    Where an index can list the memories under it, `source` does. Where RAM tells of which of some ids it holds, `test`
    does.
    """

    sql: str
    arguments: tuple[object, ...] = ()
    source: Source | None = None
    test: Test | None = None


EVERY_MEMORY = Sql("1")
"""Every memory."""
NO_MEMORY = Sql("0", (), Source("SELECT 1 AS id WHERE 0", (), 0))
"""No memory."""
ACTIVE = Sql("m.status = 'active'")
"""Every memory that is not withdrawn."""


def index_test(test: str, *arguments: object) -> Sql:
    """Test columns of `memories` that have an index."""
    return Sql(test, arguments, Source(f"SELECT m.id AS id FROM memories AS m WHERE {test}", arguments))


def rows(table: str, test: str, *arguments: object, each_once: bool = True) -> Sql:
    """Require a row of a table with a `memory_id` that a test holds for; of one memory at most one, if `each_once`."""
    distinct = "" if each_once else "DISTINCT "
    return Sql(
        f"EXISTS (SELECT 1 FROM {table} WHERE {test} AND memory_id = m.id)",
        arguments,
        Source(f"SELECT {distinct}memory_id AS id FROM {table} WHERE {test}", arguments),
    )


def in_source(source: Source) -> Sql:
    """Require to be among what a source lists, for what cannot be checked of one memory at a time."""
    return Sql(f"m.id IN ({source.sql})", source.arguments, source)


def one_of(column: str, values: Sequence[object]) -> tuple[str, object]:
    """Return SQL that compares a column with values, any of which will do, and its argument."""
    if len(values) == 1:
        return f"{column} = ?", values[0]
    return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(values)


def all_of(conditions: Iterable[Sql]) -> Sql:
    """Require all of some conditions; without any, every memory meets them."""
    conditions = tuple(conditions) or (EVERY_MEMORY,)
    return conditions[0] if len(conditions) == 1 else _join("AND", conditions)


def any_of(conditions: Sequence[Sql]) -> Sql:
    """Require at least one of some conditions; without any, nothing meets it."""
    if not conditions:
        return NO_MEMORY
    if len(conditions) == 1:
        return conditions[0]
    sources = [condition.source for condition in conditions if condition.source]
    source = None
    if len(sources) == len(conditions) <= _MOST_UNITED:
        sizes = [source.size for source in sources if source.size is not None]
        source = Source(
            " UNION ".join(f"SELECT id FROM ({source.sql})" for source in sources),
            tuple(argument for source in sources for argument in source.arguments),
            sum(sizes) if len(sizes) == len(sources) else None,
        )
    return _join("OR", conditions)._replace(source=source)


def count_true(conditions: Iterable[Sql]) -> Sql:
    """Count how many of some conditions hold."""
    return _join("+", conditions)


def _join(operator: str, conditions: Iterable[Sql]) -> Sql:
    conditions = tuple(conditions)
    checks = [f"({condition.sql})" for condition in conditions]
    # In groups, for SQLite reads "a AND b AND c" as an expression three deep, and takes none a thousand deep.
    while len(checks) > 1:
        groups = (f" {operator} ".join(checks[first : first + _GROUP]) for first in range(0, len(checks), _GROUP))
        checks = [f"({group})" for group in groups]
    return Sql(checks[0], tuple(argument for condition in conditions for argument in condition.arguments))
