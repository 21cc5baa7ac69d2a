"""One comparison of a context filter in SQL.

JSON types hold: `true` is not 1. A path that a memory does not have, or a value of another type, does not match; only
`$ne` holds for a value of another type, which is not equal.
A name of `OWN_FIELDS` is a field of the memory itself; `context.<name>` reaches a key of that name in the context.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ..storage.decay import Decay
from .candidates import Condition, Source, in_source

OWN_FIELDS = {
    "id": ("m.id", float),
    "kind": ("m.type", str),
    "content": ("m.content", str),
    "human_summary": ("m.human_summary", str),
    "perception_type": ("m.perception_type", str),
    "label": ("m.label_key", str),
    "category": ("m.category", str),
    "tags": ("m.id", list),
    "confidence": ("m.confidence", float),
    "session_id": ("m.session_id", str),
    "collection": ("m.collection", str),
    "frame_id": ("m.frame_id", str),
    "map_id": ("m.map_id", str),
    "stamp": ("m.observed_at / 1e9", float),
    "access_count": ("m.access_count", float),
    "times_seen": ("(SELECT times_seen FROM objects WHERE memory_id = m.id)", int),
    # Booleans are the blobs of the schema here too.
    "confirmed": ("(SELECT CASE confirmed WHEN 1 THEN x'01' ELSE x'00' END FROM objects WHERE memory_id = m.id)", bool),
}
"""Fields of a memory that a filter can name: their SQL and their type. An empty text counts as absent.

A label is compared by its key. The confidence is the stored one; in a condition it counts as it is now, decayed.
"""

_ORDER = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
OPERATORS = ("$eq", "$ne", *_ORDER, "$in", "$exists", "$contains", "$prefix")
_AT_PATH = "SELECT memory_id AS id FROM json_values WHERE path_id = (SELECT id FROM json_paths WHERE path = ?)"
_IN_LIST = "."
"""After the path of a list: the path of the texts in it."""


@dataclass(frozen=True)
class Comparison:
    """The value at a dot path, an operator with its `$`, and what to compare with."""

    path: str
    operator: str
    operand: object


def conditions(comparison: Comparison, decay: Decay) -> tuple[Condition, ...]:
    """Turn a comparison into SQL, at the time of the query; all parts must hold."""
    own = OWN_FIELDS.get(comparison.path)
    is_about_list = comparison.operator == "$contains" or isinstance(comparison.operand, list)
    if own is None and is_about_list and comparison.operator != "$in":
        return tuple(_list_conditions(comparison, context_path(comparison.path)))
    if comparison.path == "confidence":
        return (_confidence_condition(comparison, decay),)
    return (_own_condition(comparison, *own) if own is not None else _context_condition(comparison),)


def _context_condition(comparison: Comparison) -> Condition:
    path = context_path(comparison.path)
    if comparison.operator == "$exists":
        source = Source(_AT_PATH, (path,))
        return in_source(source) if comparison.operand else Condition(f"m.id NOT IN ({_AT_PATH})", (path,))
    test, operands = (
        _prefix_range(comparison.operand) if comparison.operator == "$prefix" else _test("value", comparison)
    )
    source = Source(f"{_AT_PATH} AND {test}", (path, *operands))
    if comparison.operator in ("$eq", "$in"):
        return Condition(f"EXISTS ({source.sql} AND memory_id = m.id)", source.arguments, source)
    return _json_condition(comparison, path, source)


def _list_conditions(comparison: Comparison, path: str) -> Iterator[Condition]:
    # Texts in lists are indexed. For all else Python looks at the lists, of those that have one there.
    operator, operand = comparison.operator, comparison.operand
    wanted = operand if isinstance(operand, list) and operator == "$eq" else [operand]
    if operator != "$ne":
        is_list = Source(f"{_AT_PATH} AND value = x'5b'", (path,))
        yield Condition(f"EXISTS ({is_list.sql} AND memory_id = m.id)", is_list.arguments, is_list)
        for text in dict.fromkeys(one for one in wanted if isinstance(one, str)):
            source = Source(f"{_AT_PATH} AND value = ?", (path + _IN_LIST, text))
            yield Condition(f"EXISTS ({source.sql} AND memory_id = m.id)", source.arguments, source)
        if operator == "$contains" and isinstance(operand, str):
            return
    function = "context_contains" if operator == "$contains" else "context_equals"
    test = f"{function}(m.context, ?, ?) {'= 0' if operator == '$ne' else '= 1'}"
    yield Condition(test, (path, json.dumps(operand, ensure_ascii=False)))


def context_path(path: str) -> str:
    """Return the path into the context that the path of a comparison names; empty for a field of the memory itself."""
    return "" if path in OWN_FIELDS else path.removeprefix("context.")


def _sql_value(operand: object) -> object:
    # As in the schema: booleans and null are blobs, so that they equal nothing but themselves.
    if operand is None:
        return b""
    if isinstance(operand, bool):
        return b"\x01" if operand else b"\x00"
    if isinstance(operand, int) and not -(2**63) <= operand < 2**63:
        return float(operand)
    return operand


def _test(value: str, comparison: Comparison) -> tuple[str, tuple[object, ...]]:
    operator, operand = comparison.operator, comparison.operand
    if operator == "$in":
        assert isinstance(operand, list)
        return f"{value} IN ({', '.join('?' * len(operand))})", tuple(_sql_value(item) for item in operand)
    operands = (_sql_value(operand),)
    if operator in _ORDER:
        # Numbers < '' <= texts < x'' <= blobs: the second bound keeps the comparison within the operand's type.
        is_text = isinstance(operand, str)
        sql = f"{value} {_ORDER[operator]} ?"
        if operator in ("$gt", "$gte"):
            return sql + (f" AND {value} < x''" if is_text else f" AND {value} < ''"), operands
        return sql + (f" AND {value} >= ''" if is_text else ""), operands
    if operator == "$prefix":
        assert isinstance(operand, str)
        return f"typeof({value}) = 'text' AND substr({value}, 1, ?) = ?", (len(operand), operand)
    return f"{value} {'<>' if operator == '$ne' else '='} ?", operands


def _prefix_range(prefix: object) -> tuple[str, tuple[object, ...]]:
    # In the order of the index: from the prefix to the next text that does not begin with it.
    assert isinstance(prefix, str)
    shorter = prefix.rstrip(chr(sys.maxunicode))
    if not shorter:
        return "value >= ? AND value < x''", (prefix,)
    after = ord(shorter[-1]) + 1
    is_surrogate = 0xD800 <= after <= 0xDFFF
    return "value >= ? AND value < ?", (prefix, shorter[:-1] + chr(0xE000 if is_surrogate else after))


def _json_condition(comparison: Comparison, path: str, source: Source) -> Condition:
    # The index is ordered by value, so of one memory it cannot tell quickly; the memory's own JSON can. SQLite's JSON
    # paths have no way to write some names.
    if re.search(r'["\\\x00-\x1f]', path):
        return in_source(source)
    steps = "".join(f'."{step}"' for step in path.split("."))
    kind, value = "json_type(m.context, ?)", "json_extract(m.context, ?)"
    operand, json_path = comparison.operand, f"${steps}"
    if operand is None or isinstance(operand, bool):
        return Condition(f"{kind} <> ?", (json_path, {None: "null", True: "true", False: "false"}[operand]), source)
    if comparison.operator == "$prefix":
        assert isinstance(operand, str)
        sql = f"{kind} = 'text' AND substr({value}, 1, ?) = ?"
        return Condition(sql, (json_path, json_path, len(operand), operand), source)
    same_kind = f"{kind} = 'text'" if isinstance(operand, str) else f"{kind} IN ('integer', 'real')"
    if comparison.operator == "$ne":
        sql = f"{kind} IS NOT NULL AND NOT ({same_kind} AND {value} = ?)"
        return Condition(sql, (json_path, json_path, json_path, _sql_value(operand)), source)
    sql = f"{same_kind} AND {value} {_ORDER[comparison.operator]} ?"
    return Condition(sql, (json_path, json_path, _sql_value(operand)), source)


def _own_condition(comparison: Comparison, column: str, kind: type) -> Condition:
    if kind is list:
        return _tags_condition(comparison)
    # Only an object has a value where the kind is a whole number or a boolean.
    present = f"{column} <> ''" if kind is str else "1" if kind is float else f"{column} IS NOT NULL"
    if comparison.operator == "$exists":
        wanted = f"coalesce({present}, 0)"
        return Condition(wanted if comparison.operand else f"NOT {wanted}")
    # The unary + keeps a column's affinity out of the comparison: the text '5' must not become the number 5.
    test, operands = _test(f"+({column})", comparison)
    return Condition(f"{present} AND {test}", operands, _own_source(comparison, operands))


def _tags_condition(comparison: Comparison) -> Condition:
    if comparison.operator == "$exists":
        tagged = "EXISTS (SELECT 1 FROM memory_tags WHERE memory_id = m.id)"
        return Condition(tagged if comparison.operand else f"NOT {tagged}")
    source = Source("SELECT memory_id AS id FROM memory_tags WHERE tag = ?", (comparison.operand,))
    return Condition(f"EXISTS ({source.sql} AND memory_id = m.id)", source.arguments, source)


def _confidence_condition(comparison: Comparison, decay: Decay) -> Condition:
    if comparison.operator == "$exists":
        return Condition("1" if comparison.operand else "0")
    now = decay.confidence()
    test, operands = _test("+c.now", comparison)
    return Condition(f"(SELECT {test} FROM (SELECT {now.sql} AS now) AS c)", (*operands, *now.arguments))


def _own_source(comparison: Comparison, operands: tuple[object, ...]) -> Source | None:
    if comparison.operator == "$eq" and comparison.path == "label" and comparison.operand:
        return Source("SELECT id FROM memories WHERE label_key = ? AND label_key <> ''", operands)
    return None
