"""A condition: what must hold of a memory, as a value.

`mask` tells it of all rows of a table, `matches` of one memory; the tests hold them together. What a recall may find is
`[row for row in rows if condition.matches(row)]`. No condition knows a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..context_path import split
from ..models import Kind
from .columns import Mask, Table

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


class Condition:
    """What must hold of a memory before anything is ranked."""

    suffices: bool = True
    """Whether a query may have it alone, without words and other conditions."""
    is_evidence: bool = True
    """Whether it says what a memory is about, or where or when it was observed, so that what it leaves is an answer."""

    def matches(self, row: Row) -> bool:
        """Tell whether it holds for a memory."""
        raise NotImplementedError

    def mask(self, table: Table) -> Mask:
        """Tell for which rows of a table it holds: as `matches` does, of those with a memory."""
        raise NotImplementedError

    def leaves(self) -> Sequence[Condition]:
        """Return the conditions that it joins, at any depth; itself if it joins none."""
        return (self,)


@dataclass(frozen=True)
class And(Condition):
    """All of some conditions."""

    conditions: tuple[Condition, ...]

    def matches(self, row: Row) -> bool:
        """Tell whether all of them hold."""
        return all(condition.matches(row) for condition in self.conditions)

    def mask(self, table: Table) -> Mask:
        """Tell for which rows all of them hold."""
        mask = np.ones(len(table.ids), bool)
        for condition in self.conditions:
            mask &= condition.mask(table)
        return mask

    def leaves(self) -> Sequence[Condition]:
        """Return the leaves of each."""
        return [leaf for condition in self.conditions for leaf in condition.leaves()]


@dataclass(frozen=True)
class Or(Condition):
    """At least one of some conditions."""

    conditions: tuple[Condition, ...]

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

    def matches(self, row: Row) -> bool:
        """Tell whether the condition does not hold."""
        return not self.condition.matches(row)

    def mask(self, table: Table) -> Mask:
        """Tell for which rows the condition does not hold."""
        return ~self.condition.mask(table)

    def leaves(self) -> Sequence[Condition]:
        """Return the leaves of the condition."""
        return self.condition.leaves()
