"""A condition: what must hold of a memory, as a value; and the columns of which it asks that.

`mask` tells it of all rows of a table, `matches` of one memory; the tests hold them together. What a recall may find is
`[row for row in rows if condition.matches(row)]`. No condition knows a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..context_path import split
from ..models import Kind
from .places import Field

Mask = npt.NDArray[np.bool_]
"""Of which rows something holds."""
Floats = npt.NDArray[np.float64]
Points = tuple[Floats, Floats, Floats]
"""x, y and z of all rows, in metres."""


class Values(Protocol):
    """Values of all rows, each different one once; ABSENT where a memory has none."""

    def one_of(self, values: Iterable[Any]) -> Mask:
        """Tell which rows have one of some values."""

    def where(self, holds: Callable[[Any], bool]) -> Mask:
        """Tell of which rows something holds, by their values."""


class Table(Protocol):
    """All memories, a row for each: active ones, withdrawn ones, and rows of some that are gone."""

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """Return the id of each row, ascending."""

    @property
    def is_active(self) -> Mask:
        """Tell which rows have a memory that is not withdrawn."""

    @property
    def is_represented(self) -> Mask:
        """Tell which rows have a fact that another one represents."""

    @property
    def observed_at(self) -> npt.NDArray[np.int64]:
        """Return when each was observed, in nanoseconds by the robot's clock."""

    @property
    def stored_confidence(self) -> Floats:
        """Return the confidence of each without decay."""

    @property
    def confirmed(self) -> npt.NDArray[np.int8]:
        """Return 1 for each confirmed object, 0 for one that is not, -1 for what is no object."""

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each now, with the rate of the parameter."""

    def name(self, name: str) -> Values:
        """Return a field with names, such as `label`, by its key, and `kind`; of a list as a tuple."""

    def late(self, name: str) -> Values:
        """Return a field that few queries ask for, or with a dot at its beginning the values at a path of contexts."""

    def points(self, field: Field) -> Points:
        """Return x, y, z of each row in a field; NaN in x without one, in z for one in the plane."""

    def parents(self) -> Mapping[str, str]:
        """Return the tag above each tag that has one."""


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
    size: tuple[float, float, float] | None = None
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
