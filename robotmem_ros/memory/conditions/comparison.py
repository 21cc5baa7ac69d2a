"""One comparison of a context filter.

JSON types hold: `true` is not 1. A path that a memory does not have, or a value of another type, does not match; only
`$ne` holds for a value of another type, which is not equal.
A name of `OWN_FIELDS` is a field of the memory itself; `context.<name>`, and the name in quotes, reach a key of that
name in the context.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..context_path import in_context, split
from ..models import Kind
from ..text.normal_form import label_key
from .attributes import OneOf, Tags, with_parents
from .columns import Mask, Table
from .condition import ABSENT, Condition, Row
from .decay import Decay
from .sql import Source, Sql, in_source, rows


class OwnField(NamedTuple):
    """A field of a memory that a filter can name. An empty text counts as absent."""

    sql: str
    kind: type
    value: Callable[[Row], object]


OWN_FIELDS = {
    "id": OwnField("m.id", float, lambda row: row.id),
    "kind": OwnField("m.type", str, lambda row: row.kind.value),
    "content": OwnField("m.content", str, lambda row: row.content),
    "human_summary": OwnField("m.human_summary", str, lambda row: row.human_summary),
    "perception_type": OwnField("m.perception_type", str, lambda row: row.perception_type),
    "label": OwnField("m.label_key", str, lambda row: label_key(row.label)),
    "category": OwnField("m.category", str, lambda row: row.category),
    "tags": OwnField("m.id", list, lambda row: [*row.tags] or None),
    "source": OwnField("m.source", str, lambda row: row.source),
    "scope_files": OwnField("m.scope_files", list, lambda row: [*row.scope_files] or None),
    "scope_entities": OwnField("m.scope_entities", list, lambda row: [*row.scope_entities] or None),
    "confidence": OwnField("m.confidence", float, lambda row: row.confidence),
    "session_id": OwnField("m.session_id", str, lambda row: row.session_id),
    "collection": OwnField("m.collection", str, lambda row: row.collection),
    "frame_id": OwnField("m.frame_id", str, lambda row: row.frame_id),
    "map_id": OwnField("m.map_id", str, lambda row: row.map_id),
    "stamp": OwnField("m.observed_at / 1e9", float, lambda row: row.observed_at / 1e9),
    "access_count": OwnField("m.access_count", float, lambda row: row.access_count),
    "times_seen": OwnField(
        "(SELECT times_seen FROM objects WHERE memory_id = m.id)", int, lambda row: row.times_seen
    ),
    # Booleans are the blobs of the schema here too.
    "confirmed": OwnField(
        "(SELECT CASE confirmed WHEN 1 THEN x'01' ELSE x'00' END FROM objects WHERE memory_id = m.id)", bool,
        lambda row: row.confirmed,
    ),
}  # fmt: skip
"""Fields of a memory by their names in a filter.

A label is compared by its key. The confidence is the stored one in SQL; in a condition it counts as it is now, decayed.
"""

_ORDER = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
_ORDER_TESTS: dict[str, Callable[..., bool]] = {
    "$lt": lt, "$lte": le, "$gt": gt, "$gte": ge
}  # fmt: skip
_NUMBER_TESTS: dict[str, Callable[..., object]] = {"$eq": eq, "$ne": ne, **_ORDER_TESTS}
_NUMBERS = ("id", "confidence", "stamp")
_LATE = ("content", "human_summary", "scope_files", "scope_entities", "access_count", "times_seen")
"""Fields of a memory that a table holds only if they were asked for."""
_EXACT = 2**53
OPERATORS = ("$eq", "$ne", *_ORDER, "$in", "$exists", "$contains", "$prefix")
_AT_PATH = "path_id = (SELECT id FROM json_paths WHERE path = ?)"
_LIST = b"["
"""Stands for a list in `json_values`."""
_IN_LIST = "."
"""After the path of a list: the path of the texts in it."""
_IN_SQLITE = re.compile(r'[^"\\\x00-\x1f]+')
"""Keys that a JSON path of SQLite can name."""


@dataclass(frozen=True)
class Compare(Condition):
    """The value at a dot path compares with an operand, by an operator with its `$`."""

    path: str
    operator: str
    operand: object
    decay: Decay

    def sql(self) -> Sql:
        """Return it in SQL; of a comparison with a list, what remains beside its other parts."""
        field = OWN_FIELDS.get(self.path)
        if self.path == "confidence":
            return self._of_confidence()
        if field is not None:
            return self._of_own_list(field) if field.kind is list else self._of_column(field)
        return self._of_list() if self._is_about_list else self._of_context()

    def parts(self) -> Iterable[Condition]:
        """Return a label as a name, and what indexes know of a list beside the comparison itself."""
        if self.path == "label" and self.operator == "$eq" and isinstance(self.operand, str):
            return (OneOf("label", (self.operand,)),)
        if not self._is_about_list or self.operator == "$ne":
            return (self,)
        path = self.context_path
        items = self.operand if isinstance(self.operand, list) and self.operator == "$eq" else [self.operand]
        texts = [ListAtPath(path, text) for text in dict.fromkeys(item for item in items if isinstance(item, str))]
        if self.operator == "$contains" and texts:
            return texts
        return (*(texts or (ListAtPath(path),)), self)

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

    @property
    def _is_about_list(self) -> bool:
        is_list = self.operator == "$contains" or (isinstance(self.operand, list) and self.operator != "$in")
        return is_list and self.path not in OWN_FIELDS

    def _value(self, row: Row) -> object:
        field = OWN_FIELDS.get(self.path)
        value = field.value(row) if field is not None else row.at(self.context_path)
        return ABSENT if field is not None and value in ("", None) else value

    def _of_context(self) -> Sql:
        path = self.context_path
        if self.operator == "$exists":
            source = Source(f"SELECT memory_id AS id FROM json_values WHERE {_AT_PATH}", (path,))
            return in_source(source) if self.operand else Sql(f"m.id NOT IN ({source.sql})", source.arguments)
        test, operands = _prefix_range(self.operand) if self.operator == "$prefix" else self._test("value")
        by_index = at_path(path, test, *operands)
        return by_index if self.operator in ("$eq", "$in") or by_index.source is None else self._by_row(by_index.source)

    def _by_row(self, source: Source) -> Sql:
        # The index is ordered by value, so of one memory it cannot tell quickly; the memory's own JSON can. SQLite's
        # JSON paths have no way to write some names.
        keys = split(self.context_path)
        if not all(map(_IN_SQLITE.fullmatch, keys)):
            return in_source(source)
        path = "$" + "".join(f'."{key}"' for key in keys)
        kind, value, operand = "json_type(m.context, ?)", "json_extract(m.context, ?)", self.operand
        if operand is None or isinstance(operand, bool):
            return Sql(f"{kind} <> ?", (path, {None: "null", True: "true", False: "false"}[operand]), source)
        if self.operator == "$prefix":
            test = f"{kind} = 'text' AND substr({value}, 1, ?) = ?"
            return Sql(test, (path, path, len(str(operand)), operand), source)
        same_kind = f"{kind} = 'text'" if isinstance(operand, str) else f"{kind} IN ('integer', 'real')"
        if self.operator == "$ne":
            test = f"{kind} IS NOT NULL AND NOT ({same_kind} AND {value} = ?)"
            return Sql(test, (path, path, path, _sql_value(operand)), source)
        return Sql(f"{same_kind} AND {value} {_ORDER[self.operator]} ?", (path, path, _sql_value(operand)), source)

    def _of_list(self) -> Sql:
        # Texts in lists are indexed, see `parts`. For all else Python looks at the lists.
        if self.operator == "$contains" and isinstance(self.operand, str):
            return ListAtPath(self.context_path, self.operand).sql()
        operand = json.dumps(self.operand, ensure_ascii=False)
        return Sql("context_compares(m.context, ?, ?, ?)", (self.context_path, self.operator, operand))

    def _of_column(self, field: OwnField) -> Sql:
        # Only an object has a value where the kind is a whole number or a boolean.
        column = field.sql
        present = f"{column} <> ''" if field.kind is str else "1" if field.kind is float else f"{column} IS NOT NULL"
        if self.operator == "$exists":
            return Sql(f"{'' if self.operand else 'NOT '}coalesce({present}, 0)")
        # The unary + keeps a column's affinity out of the comparison: the text '5' must not become the number 5.
        test, operands = self._test(f"+({column})")
        return Sql(f"{present} AND {test}", operands)

    def _of_own_list(self, field: OwnField) -> Sql:
        is_tags = self.path == "tags"
        if self.operator == "$exists":
            has_any = "m.tags <> '{}'" if is_tags else f"{field.sql} <> ''"
            return Sql(has_any if self.operand else f"NOT {has_any}")
        if is_tags:
            return Tags((str(self.operand),)).sql()
        return Sql(f"instr(char(10) || {field.sql} || char(10), char(10) || ? || char(10)) > 0", (self.operand,))

    def _of_confidence(self) -> Sql:
        if self.operator == "$exists":
            return Sql("1" if self.operand else "0")
        now = self.decay.confidence()
        test, operands = self._test("+c.now")
        return Sql(f"(SELECT {test} FROM (SELECT {now.sql} AS now) AS c)", (*operands, *now.arguments))

    def _test(self, value: str) -> tuple[str, tuple[object, ...]]:
        if self.operator == "$in":
            operands = self.operand if isinstance(self.operand, list) else []
            return f"{value} IN ({', '.join('?' * len(operands))})", tuple(map(_sql_value, operands))
        arguments = (_sql_value(self.operand),)
        if self.operator in _ORDER:
            # Numbers < '' <= texts < x'' <= blobs: the second bound keeps the comparison within the operand's type.
            is_text = isinstance(self.operand, str)
            test = f"{value} {_ORDER[self.operator]} ?"
            if self.operator in ("$gt", "$gte"):
                return test + (f" AND {value} < x''" if is_text else f" AND {value} < ''"), arguments
            return test + (f" AND {value} >= ''" if is_text else ""), arguments
        if self.operator == "$prefix":
            prefix = str(self.operand)
            return f"typeof({value}) = 'text' AND substr({value}, 1, ?) = ?", (len(prefix), prefix)
        return f"{value} {'<>' if self.operator == '$ne' else '='} ?", arguments


@dataclass(frozen=True)
class ListAtPath(Condition):
    """A list at a path of the context, with a text in it unless that is None."""

    path: str
    text: str | None = None

    def sql(self) -> Sql:
        """Return it in SQL."""
        path, value = (self.path, _LIST) if self.text is None else (self.path + _IN_LIST, self.text)
        return at_path(path, "value = ?", value)

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has it."""
        value = row.at(self.path)
        return isinstance(value, list) and (self.text is None or self.text in value)


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


def at_path(path: str, test: str, *arguments: object) -> Sql:
    """Require a value at a path of the context that a test of `value` holds for."""
    return rows("json_values", f"{_AT_PATH} AND {test}", path, *arguments)


def _sql_value(operand: object) -> object:
    # As in the schema: booleans and null are blobs, so that they equal nothing but themselves.
    if operand is None:
        return b""
    if isinstance(operand, bool):
        return b"\x01" if operand else b"\x00"
    if isinstance(operand, int) and not -(2**63) <= operand < 2**63:
        return float(operand)
    return operand


def _prefix_range(prefix: object) -> tuple[str, tuple[object, ...]]:
    # In the order of the index: from the prefix to the next text that does not begin with it.
    assert isinstance(prefix, str)
    shorter = prefix.rstrip(chr(sys.maxunicode))
    if not shorter:
        return "value >= ? AND value < x''", (prefix,)
    after = ord(shorter[-1]) + 1
    is_surrogate = 0xD800 <= after <= 0xDFFF
    return "value >= ? AND value < ?", (prefix, shorter[:-1] + chr(0xE000 if is_surrogate else after))


def _type(value: object) -> type:
    return float if type(value) is int else type(value)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(value, right[name]) for name, value in left.items())
    return _type(left) is _type(right) and left == right
