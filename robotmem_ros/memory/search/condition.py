"""Conditions in SQL: which memories may be in a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_GROUP = 50


class Source(NamedTuple):
    """A SELECT that gives the memories under a condition from an index, each once, as a column named `id`."""

    sql: str
    arguments: tuple[object, ...]
    size: int | None = None
    """How many there are, about, where it need not be counted."""


class Condition(NamedTuple):
    """What must hold of a memory: an SQL expression over the alias `m` of memories, cheap for one memory at a time.

    Where an index can list the memories under the condition, `source` does.
    """

    check: str
    arguments: tuple[object, ...] = ()
    source: Source | None = None


def in_source(source: Source) -> Condition:
    """Require to be among what a source lists, for what cannot be checked of one memory at a time."""
    return Condition(f"m.id IN ({source.sql})", source.arguments, source)


def joined(operator: str, conditions: Iterable[Condition]) -> Source:
    """Join the checks of some conditions, at least one, by AND or OR."""
    conditions = tuple(conditions)
    checks = [f"({condition.check})" for condition in conditions]
    # In groups, for SQLite reads "a AND b AND c" as an expression three deep, and takes none a thousand deep.
    while len(checks) > 1:
        groups = (f" {operator} ".join(checks[first : first + _GROUP]) for first in range(0, len(checks), _GROUP))
        checks = [f"({group})" for group in groups]
    return Source(checks[0], tuple(argument for condition in conditions for argument in condition.arguments))
