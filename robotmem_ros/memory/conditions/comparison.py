"""The condition `context_filter`: comparisons, joined by `$and`, `$or` and `$not`.

JSON types hold: `true` is not 1. A path that a memory does not have, or a value of another type, does not match; only
`$ne` holds for a value of another type, which is not equal.
A name of `OWN_FIELDS` is a field of the memory itself; `context.<name>`, and the name in quotes, reach a key of that
name in the context.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import context_path, validation
from ..context_path import in_context
from ..errors import InvalidFieldError
from ..models import Kind
from ..text.normal_form import label_key, tag_key
from .attributes import with_parents
from .condition import ABSENT, And, Condition, Mask, Not, Or, Row, Table
from .decay import Decay


class OwnField(NamedTuple):
    """A field of a memory that a filter can name. An empty text counts as absent."""

    kind: type
    value: Callable[[Row], object]


def _edge(index: int, row: Row) -> float | None:
    return row.size and row.size[index]


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
    **{f"size.{axis}": OwnField(float, partial(_edge, index)) for index, axis in enumerate("xyz")},
    "size.min": OwnField(float, lambda row: row.size and min(row.size)),
    "size.max": OwnField(float, lambda row: row.size and max(row.size)),
}
"""Fields of a memory by their names in a filter: a label is compared by its key, confidence as it is now, decayed."""

_ORDER_TESTS: dict[str, Callable[..., bool]] = {
    "$lt": lt, "$lte": le, "$gt": gt, "$gte": ge
}  # fmt: skip
_NUMBER_TESTS: dict[str, Callable[..., object]] = {"$eq": eq, "$ne": ne, **_ORDER_TESTS}
_NUMBERS = ("id", "confidence", "stamp")
_LATE = (
    "content", "human_summary", "scope_files", "scope_entities", "access_count", "times_seen", "size.x", "size.y",
    "size.z", "size.min", "size.max",
)  # fmt: skip
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


_FIELD = "context_filter"
MAX_COMPARISONS, MAX_VALUES, MAX_DEPTH = 100, 1000, 8
"""Comparisons of a filter, values of an `$in`, and joins within joins."""
JOINS = ("$and", "$or", "$not")
_ORDER_OPERATORS = ("$lt", "$lte", "$gt", "$gte")


def parse_filter(context_filter: object, decay: Decay, *, limit: int) -> And:
    """Parse a filter, of which all parts must hold.

    Raises:
        InvalidFieldError: it is no JSON object, a path is malformed, an operator unknown, or an operand unfit for it.
    """
    tree = validation.json_object(_FIELD, context_filter, limit=limit, example='{"task.success": true}')
    conditions = And(tuple(_parts(_FIELD, tree, decay)))
    if (depth := _depth(tree)) > MAX_DEPTH:
        problem = f"are nested too deeply; at most {MAX_DEPTH} of {', '.join(JOINS)} may stand within each other"
        raise InvalidFieldError(_FIELD, f"{depth} joins", problem)
    if (count := sum(1 for _ in conditions.leaves())) > MAX_COMPARISONS:
        problem = f"are too many; at most {MAX_COMPARISONS} are allowed, and $in compares with many values at once"
        raise InvalidFieldError(_FIELD, f"{count} comparisons", problem)
    return conditions


def _depth(value: object) -> int:
    if isinstance(value, Mapping):
        return max(((name in JOINS) + _depth(inner) for name, inner in value.items()), default=0)
    return max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _parts(field: str, filter_: Mapping[str, object], decay: Decay) -> Iterator[Condition]:
    for path, value in filter_.items():
        if path in JOINS:
            yield _join(f"{field}.{path}", path, value, decay)
            continue
        if path.startswith("$"):
            joins = ", ".join(JOINS)
            problem = (
                f"is an unknown operator; {joins} join filters, others follow a path, and a key that begins so stands "
                'in double quotes, such as "$set"'
            )
            raise InvalidFieldError(field, path, problem)
        context_path.check(field, path)
        if path.startswith("tags."):
            problem = (
                f"goes into the tags of a memory, which are a list; a key of that name in the context is context.{path}"
            )
            raise InvalidFieldError(field, path, problem)
        yield from _comparisons(f"{field}.{path}", path, value, decay)


def _join(field: str, operator: str, value: object, decay: Decay) -> Condition:
    filters = [value] if operator == "$not" else value
    if not isinstance(filters, list) or not filters or not all(isinstance(part, dict) and part for part in filters):
        shape = "a filter" if operator == "$not" else "a list of filters"
        raise InvalidFieldError(field, value, f"must be {shape}, each a JSON object with at least one condition")
    conditions = tuple(And(tuple(_parts(field, part, decay))) for part in filters)
    return Or(conditions) if operator == "$or" else And(conditions) if operator == "$and" else Not(conditions[0])


def _comparisons(field: str, path: str, value: object, decay: Decay) -> Iterator[Condition]:
    if not isinstance(value, dict):
        yield _comparison(field, path, "$eq", value, decay)
        return
    if not value:
        raise InvalidFieldError(field, value, f"needs an operator: {', '.join(OPERATORS)}")
    for operator, operand in value.items():
        if operator == "$not":
            if not isinstance(operand, dict):
                raise InvalidFieldError(
                    f"{field}.$not", operand, 'must be an operator with its value, as in {"$gt": 5}'
                )
            yield Not(And(tuple(_comparisons(f"{field}.$not", path, operand, decay))))
        else:
            yield _comparison(field, path, operator, operand, decay)


def _comparison(field: str, path: str, operator: str, operand: object, decay: Decay) -> Compare:
    if operator not in OPERATORS:
        raise InvalidFieldError(field, operator, f"is an unknown operator; there are {', '.join(OPERATORS)} and $not")
    location = field if operator == "$eq" else f"{field}.{operator}"
    if operator in _ORDER_OPERATORS and (isinstance(operand, bool) or not isinstance(operand, (int, float, str))):
        raise InvalidFieldError(location, operand, "must be a number or a text")
    if operator == "$prefix" and not isinstance(operand, str):
        raise InvalidFieldError(location, operand, "must be a text")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidFieldError(location, operand, "must be true or false")
    if operator == "$in" and (not isinstance(operand, list) or any(isinstance(item, (dict, list)) for item in operand)):
        raise InvalidFieldError(location, operand, "must be a list of numbers, texts, booleans or nulls")
    if isinstance(operand, list) and len(operand) > MAX_VALUES:
        raise InvalidFieldError(location, f"{len(operand)} values", f"are too many; give at most {MAX_VALUES}")
    if operator in ("$eq", "$ne") and isinstance(operand, dict):
        problem = "cannot be compared; compare a number, text, boolean, null or list, or name the path of a value in it"
        raise InvalidFieldError(location, operand, problem)
    _check_own(location, path, operator, operand)
    if path == "tags" and isinstance(operand, str):
        operand = tag_key(operand)
    return Compare(path, operator, _keyed(operand) if path == "label" else operand, decay)


def _check_own(location: str, path: str, operator: str, operand: object) -> None:
    if path not in OWN_FIELDS:
        return
    if OWN_FIELDS[path].kind is list:
        if operator not in ("$contains", "$exists") or (operator == "$contains" and not isinstance(operand, str)):
            other = ", or the fields `tags` and `any_tags`" if path == "tags" else ""
            problem = f'cannot be compared with {path}, a list; use {{"$contains": "a name"}}{other}'
            raise InvalidFieldError(location, operand, problem)
    elif operator == "$contains" or (operator in ("$eq", "$ne") and isinstance(operand, list)):
        raise InvalidFieldError(location, operand, f"cannot be compared: `{path}` of a memory is no list")


def _keyed(operand: object) -> object:
    if isinstance(operand, list):
        return [_keyed(item) for item in operand]
    return label_key(operand) if isinstance(operand, str) else operand
