"""Conditions in SQL: which memories may be in a result."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

NAMES = 1000
"""How many names are searched for near ones."""
_GROUP = 50
_MOST_UNITED = 100


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


NONE = Condition("0", (), Source("SELECT 1 AS id WHERE 0", (), 0))
"""What nothing meets."""


class Wanted(ABC):
    """A condition as its caller gave it, checked; it turns into SQL on the snapshot that the query runs on."""

    suffices: bool = True
    """Whether a query may have it alone, without words and other conditions."""

    @abstractmethod
    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL, in as many parts as indexes can list by themselves; all must hold.

        Raises:
            FrameMismatchError: its position is in a frame that cannot be compared.
            InvalidFieldError: it cannot be met in this database.
        """

    def notes(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say what the caller should know of it, whatever was found."""
        return ()

    def unknown(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say what it names that no memory has."""
        return ()


def in_source(source: Source) -> Condition:
    """Require to be among what a source lists, for what cannot be checked of one memory at a time."""
    return Condition(f"m.id IN ({source.sql})", source.arguments, source)


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Require at least one of some conditions; without any, nothing meets it."""
    if not conditions:
        return NONE
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
    return Condition(*joined("OR", conditions)[:2], source)


def distinct(connection: sqlite3.Connection, table: str, column: str, where: str) -> list[str]:
    """Return the texts in an indexed column, from one to the next, not more than are searched for near names."""
    next_one = f"SELECT min({column}) FROM {table} WHERE {where}"
    found = connection.execute(
        f"WITH RECURSIVE one (value) AS ({next_one} UNION ALL SELECT ({next_one} AND {column} > one.value) FROM one "
        "WHERE one.value IS NOT NULL) SELECT value FROM one WHERE value IS NOT NULL LIMIT ?",
        (NAMES,),
    )
    return [value for (value,) in found if isinstance(value, str)]


def joined(operator: str, conditions: Iterable[Condition]) -> Source:
    """Join the checks of some conditions, at least one, by an operator."""
    conditions = tuple(conditions)
    checks = [f"({condition.check})" for condition in conditions]
    # In groups, for SQLite reads "a AND b AND c" as an expression three deep, and takes none a thousand deep.
    while len(checks) > 1:
        groups = (f" {operator} ".join(checks[first : first + _GROUP]) for first in range(0, len(checks), _GROUP))
        checks = [f"({group})" for group in groups]
    return Source(checks[0], tuple(argument for condition in conditions for argument in condition.arguments))
