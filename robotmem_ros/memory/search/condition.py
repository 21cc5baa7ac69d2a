"""A piece of SQL that decides which memories count, with its arguments."""

from __future__ import annotations

from typing import NamedTuple


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
    """The condition to be among what a source lists, for what cannot be checked of one memory at a time."""
    return Condition(f"m.id IN ({source.sql})", source.arguments, source)
