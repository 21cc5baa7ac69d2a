"""One comparison of a context filter.

JSON types hold: `true` is not 1. A path that a memory does not have, or a value of another type, does not match; only
`$ne` holds for a value of another type, which is not equal.
A name of `OWN_FIELDS` is a field of the memory itself; `context.<name>`, and the name in quotes, reach a key of that
name in the context.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..context_path import in_context
from ..models import Kind
from ..text.normal_form import label_key
from .attributes import with_parents
from .columns import Mask, Table
from .condition import ABSENT, Condition, Row
from .decay import Decay


class OwnField(NamedTuple):
    """A field of a memory that a filter can name. An empty text counts as absent."""

    kind: type
    value: Callable[[Row], object]


OWN_FIELDS = {
    "id": OwnField(float, lambda row: row.id),
    "kind": OwnField(str, lambda row: row.kind.value),
    "content": OwnField(str, lambda row: row.content),
    "human_summary": OwnField(str, lambda row: row.human_summary),
    "perception_type": OwnField(str, lambda row: row.perception_type),
    "label": OwnField(str, lambda row: label_key(row.label)),
    "category": OwnField(str, lambda row: row.category),
    "tags": OwnField(list, lambda row: [*row.tags] or None),
    "source": OwnField(str, lambda row: row.source),
    "scope_files": OwnField(list, lambda row: [*row.scope_files] or None),
    "scope_entities": OwnField(list, lambda row: [*row.scope_entities] or None),
    "confidence": OwnField(float, lambda row: row.confidence),
    "session_id": OwnField(str, lambda row: row.session_id),
    "collection": OwnField(str, lambda row: row.collection),
    "frame_id": OwnField(str, lambda row: row.frame_id),
    "map_id": OwnField(str, lambda row: row.map_id),
    "stamp": OwnField(float, lambda row: row.observed_at / 1e9),
    "access_count": OwnField(float, lambda row: row.access_count),
    "times_seen": OwnField(int, lambda row: row.times_seen),
    "confirmed": OwnField(bool, lambda row: row.confirmed),
}
"""Fields of a memory by their names in a filter: a label is compared by its key, confidence as it is now, decayed."""

_ORDER_TESTS: dict[str, Callable[..., bool]] = {
    "$lt": lt, "$lte": le, "$gt": gt, "$gte": ge
}  # fmt: skip
_NUMBER_TESTS: dict[str, Callable[..., object]] = {"$eq": eq, "$ne": ne, **_ORDER_TESTS}
_NUMBERS = ("id", "confidence", "stamp")
_LATE = ("content", "human_summary", "scope_files", "scope_entities", "access_count", "times_seen")
"""Fields of a memory that a table holds only if they were asked for."""
_EXACT = 2**53
OPERATORS = ("$eq", "$ne", *_ORDER_TESTS, "$in", "$exists", "$contains", "$prefix")


@dataclass(frozen=True)
class Compare(Condition):
    """The value at a dot path compares with an operand, by an operator with its `$`."""

    path: str
    operator: str
    operand: object
    decay: Decay

    def matches(self, row: Row) -> bool:
        """Tell whether it holds for a memory."""
        return compares(self._value(row), self.operator, self.operand)

    def mask(self, table: Table) -> Mask:
        """Tell for which rows it holds: each different value is compared once."""
        if self.path in _NUMBERS:
            return number_compares(self._numbers(table), self.operator, self.operand)
        if self.path == "confirmed":
            known = {0: False, 1: True}
            holds = [self._holds(known.get(value)) for value in (0, 1, -1)]
            return np.array(holds).take(table.confirmed)
        if self.path == "tags":
            parents = table.parents()
            return table.name("tags").where(lambda tags: self._holds([*with_parents(tags, parents)]))
        if self.path in OWN_FIELDS and self.path not in _LATE:
            return table.name(self.path).where(lambda name: self._holds(name.value if type(name) is Kind else name))
        return self._mask_of_values(table)

    @property
    def context_path(self) -> str:
        """Return the path into the context that it names; empty for a field of the memory itself."""
        return "" if self.path in OWN_FIELDS else in_context(self.path)

    def _mask_of_values(self, table: Table) -> Mask:
        if self.path in OWN_FIELDS:
            return table.late(self.path).where(lambda value: self._holds([*value] if type(value) is tuple else value))
        values = table.late(f".{self.context_path}")
        if self.operator == "$eq" and not isinstance(self.operand, (list, dict)):
            return values.one_of([self.operand])
        if self.operator == "$in" and isinstance(self.operand, list):
            return values.one_of(self.operand)
        return values.where(lambda value: compares(value, self.operator, self.operand))

    def _holds(self, value: object) -> bool:
        is_absent = value is None or value in ("", [])
        return compares(ABSENT if is_absent else value, self.operator, self.operand)

    def _numbers(self, table: Table) -> npt.NDArray[np.number]:
        if self.path == "confidence":
            return table.confidence(self.decay.rate)
        return table.ids if self.path == "id" else table.observed_at / 1e9

    def _value(self, row: Row) -> object:
        field = OWN_FIELDS.get(self.path)
        value = field.value(row) if field is not None else row.at(self.context_path)
        return ABSENT if field is not None and value in ("", None) else value


def compares(value: object, operator: str, operand: object) -> bool:
    """Tell whether a value, or ABSENT, compares with an operand, by an operator with its `$`."""
    if operator == "$exists":
        return (value is not ABSENT) == operand
    if value is ABSENT:
        return False
    if operator == "$contains":
        return isinstance(value, list) and any(_equal(item, operand) for item in value)
    if operator == "$in":
        return isinstance(operand, list) and any(_equal(value, item) for item in operand)
    if operator in ("$eq", "$ne"):
        return _equal(value, operand) == (operator == "$eq")
    if operator == "$prefix":
        return isinstance(value, str) and isinstance(operand, str) and value.startswith(operand)
    return _type(value) is _type(operand) in (float, str) and _ORDER_TESTS[operator](value, operand)


def filter_name(path: str) -> str:
    """Return how a filter names a path of the context."""
    return f"context.{path}" if path in OWN_FIELDS or path.startswith(("context.", "tags.")) else path


def number_compares(numbers: npt.NDArray[np.number], operator: str, operand: object) -> Mask:
    """Tell which of some numbers compare with an operand; all are below 2**53, or rounded."""
    if operator == "$exists":
        return np.full(len(numbers), operand)
    if operator == "$in":
        operands = operand if isinstance(operand, list) else []
        mask = np.zeros(len(numbers), bool)
        for item in operands:
            mask |= number_compares(numbers, "$eq", item)
        return mask
    if type(operand) not in (int, float):
        return np.full(len(numbers), operator == "$ne")
    assert isinstance(operand, (int, float))
    limit = operand if abs(operand) < _EXACT else math.inf if operand > 0 else -math.inf
    return (
        np.asarray(_NUMBER_TESTS[operator](numbers, limit))
        if operator in _NUMBER_TESTS
        else np.zeros(len(numbers), bool)
    )


def _type(value: object) -> type:
    return float if type(value) is int else type(value)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(value, right[name]) for name, value in left.items())
    return _type(left) is _type(right) and left == right
