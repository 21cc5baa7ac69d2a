"""A condition: a value that explains itself to SQL, to columns in RAM, and to Python.

`sql` is an expression over the alias `m` of memories, `in_ram` a test by columns that are in RAM, and `matches` is what
both mean. The tests hold them together: what a recall may find is `[row for row in rows if condition.matches(row)]`. No
condition knows a database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..context_path import split
from ..models import Kind
from .columns import Mask, Table
from .decay import Decay
from .overview import Overview
from .sql import Sql, Test, all_of, any_of

ABSENT = object()
"""The value at a path that a memory does not have."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A memory as conditions see it at the time of a query."""

    id: int
    kind: Kind
    collection: str
    observed_at: int
    frame_id: str
    map_id: str
    context: Mapping[str, object]
    confidence: float
    """Confidence now, decayed."""
    stored_confidence: float
    """Confidence without decay."""
    position: tuple[float, ...] | None = None
    """x, y, z of the pose."""
    content: str = ""
    human_summary: str = ""
    perception_type: str = ""
    label: str = ""
    category: str = ""
    session_id: str = ""
    tags: tuple[str, ...] = ()
    """Tags, and those above them in the tree."""
    source: str = ""
    scope_files: tuple[str, ...] = ()
    scope_entities: tuple[str, ...] = ()
    access_count: int = 0
    times_seen: int | None = None
    """Sightings of an object; None for what is no object."""
    confirmed: bool | None = None
    """Whether an object is confirmed; None for what is no object."""
    is_represented: bool = False
    """Whether another fact represents it."""

    def at(self, path: str) -> object:
        """Return the value at a dot path of the context, or ABSENT."""
        return value_at(self.context, path)


def value_at(context: object, path: str) -> object:
    """Return the value at a dot path of a context, or ABSENT."""
    value = context
    for name in split(path):
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
    return value


class Attributes(NamedTuple):
    """What tells most memories apart for the conditions of nearly every query."""

    kind: Kind
    collection: str
    is_active: bool
    frame: tuple[str, str] | None
    """Frame and map of its position; None without one."""


class Columns(Protocol):
    """Columns in RAM: a test by each, or None where they do not tell it of the snapshot."""

    def of(self, holds: Callable[[Attributes], bool]) -> Test:
        """Return the test of what holds for some attributes."""

    def of_labels(self, labels: Collection[str]) -> Test | None:
        """Return the test for one of some labels, by their keys."""

    def of_fresh(self, decay: Decay) -> Test | None:
        """Return the test for as much confidence as recall asks for by default."""

    def of_faded(self, decay: Decay) -> Test | None:
        """Return the test for as much confidence once, and less now."""


class Condition:
    """What must hold of a memory before anything is ranked."""

    suffices: bool = True
    """Whether a query may have it alone, without words and other conditions."""
    is_evidence: bool = True
    """Whether it says what a memory is about, or where or when it was observed, so that what it leaves is an answer."""

    def sql(self) -> Sql:
        """Return it in SQL."""
        raise NotImplementedError

    def matches(self, row: Row) -> bool:
        """Tell whether it holds for a memory."""
        raise NotImplementedError

    def mask(self, table: Table) -> Mask:
        """Tell for which rows of a table it holds: as `matches` does, of those with a memory."""
        raise NotImplementedError

    def in_ram(self, columns: Columns) -> Test | None:
        """Return its test by columns in RAM; None if they do not tell whether it holds."""
        return None

    def parts(self) -> Iterable[Condition]:
        """Return it as conditions that all must hold, so that indexes can list the memories under each by itself."""
        return (self,)

    def leaves(self) -> Sequence[Condition]:
        """Return the conditions that it joins, at any depth; itself if it joins none."""
        return (self,)

    def leaves_out_any(self, overview: Overview) -> bool:
        """Tell whether there may be a memory that it leaves out."""
        return True


@dataclass(frozen=True)
class And(Condition):
    """All of some conditions."""

    conditions: tuple[Condition, ...]

    def sql(self) -> Sql:
        """Return it in SQL."""
        return all_of([part.sql() for part in self.parts()])

    def matches(self, row: Row) -> bool:
        """Tell whether all of them hold."""
        return all(condition.matches(row) for condition in self.conditions)

    def mask(self, table: Table) -> Mask:
        """Tell for which rows all of them hold."""
        mask = np.ones(len(table.ids), bool)
        for condition in self.conditions:
            mask &= condition.mask(table)
        return mask

    def parts(self) -> Iterable[Condition]:
        """Return the parts of each."""
        return [part for condition in self.conditions for part in condition.parts()]

    def leaves(self) -> Sequence[Condition]:
        """Return the leaves of each."""
        return [leaf for condition in self.conditions for leaf in condition.leaves()]


@dataclass(frozen=True)
class Or(Condition):
    """At least one of some conditions."""

    conditions: tuple[Condition, ...]

    def sql(self) -> Sql:
        """Return it in SQL."""
        return any_of([And((condition,)).sql() for condition in self.conditions])

    def matches(self, row: Row) -> bool:
        """Tell whether any of them holds."""
        return any(condition.matches(row) for condition in self.conditions)

    def mask(self, table: Table) -> Mask:
        """Tell for which rows any of them holds."""
        mask = np.zeros(len(table.ids), bool)
        for condition in self.conditions:
            mask |= condition.mask(table)
        return mask

    def leaves(self) -> Sequence[Condition]:
        """Return the leaves of each."""
        return [leaf for condition in self.conditions for leaf in condition.leaves()]


@dataclass(frozen=True)
class Not(Condition):
    """What a condition leaves out."""

    condition: Condition
    is_evidence = False

    def sql(self) -> Sql:
        """Return it in SQL: what is not known to hold does not."""
        check, arguments, *_ = And((self.condition,)).sql()
        return Sql(f"NOT coalesce({check}, 0)", arguments)

    def matches(self, row: Row) -> bool:
        """Tell whether the condition does not hold."""
        return not self.condition.matches(row)

    def mask(self, table: Table) -> Mask:
        """Tell for which rows the condition does not hold."""
        return ~self.condition.mask(table)

    def leaves(self) -> Sequence[Condition]:
        """Return the leaves of the condition."""
        return self.condition.leaves()
