"""A piece of SQL that decides which memories count, with its arguments; conditions add up."""

from __future__ import annotations

from typing import NamedTuple


class Condition(NamedTuple):
    """An SQL expression over the alias `m` of memories, with a `?` for each argument."""

    sql: str
    arguments: tuple[object, ...] = ()

    def and_(self, other: Condition) -> Condition:
        """Both must hold."""
        return Condition(f"{self.sql} AND {other.sql}", (*self.arguments, *other.arguments))
