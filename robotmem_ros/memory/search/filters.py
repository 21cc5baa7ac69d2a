"""The condition `context_filter`: its parser, and its SQL.

JSON types hold: `true` is not 1. A path that a memory does not have, or a value of another type, does not match; only
`$ne` holds for a value of another type, which is not equal.
A name of `OWN_FIELDS` is a field of the memory itself; `context.<name>` reaches a key of that name in the context.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

from .. import validation
from ..errors import InvalidFieldError
from ..storage.decay import Decay
from ..text.normal_form import label_key
from .condition import Condition, Source, Wanted, in_source

OWN_FIELDS = {
    "id": ("m.id", float),
    "kind": ("m.type", str),
    "content": ("m.content", str),
    "human_summary": ("m.human_summary", str),
    "perception_type": ("m.perception_type", str),
    "label": ("m.label_key", str),
    "category": ("m.category", str),
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
_TAGS = "tags"
OPERATORS = ("$eq", "$ne", *_ORDER, "$in", "$exists")


@dataclass(frozen=True)
class Comparison:
    """One condition: the value at a dot path, an operator with its `$`, and what to compare with."""

    path: str
    operator: str
    operand: object


def parse_filter(context_filter: object, *, limit: int) -> tuple[Comparison, ...]:
    """Parse a filter into comparisons, all of which must hold.

    Raises:
        InvalidFieldError: it is no JSON object, a path is malformed, an operator unknown, or an operand unfit for it.
    """
    parsed = validation.json_object("context_filter", context_filter, limit=limit)
    comparisons = []
    for path, wanted in parsed.items():
        field = f"context_filter.{path}"
        if not all(path.split(".")):
            raise InvalidFieldError("context_filter", path, "is no dot path such as task.success")
        if path.split(".")[0] == _TAGS:
            raise InvalidFieldError(
                "context_filter", path, "cannot be asked for: tags of a memory are no part of its context; a key of "
                f"that name in the context is context.{path}"
            )  # fmt: skip
        if isinstance(wanted, dict):
            if not wanted:
                raise InvalidFieldError(field, wanted, f"needs an operator: {', '.join(OPERATORS)}")
            comparisons += [_comparison(field, path, operator, operand) for operator, operand in wanted.items()]
        else:
            comparisons.append(_comparison(field, path, "$eq", wanted))
    return tuple(comparisons)


def condition(comparison: Comparison, decay: Decay) -> Condition:
    """Turn a comparison into SQL, at the time of the query."""
    if comparison.path == "confidence":
        return _confidence_condition(comparison, decay)
    own = OWN_FIELDS.get(comparison.path)
    if own is not None:
        return _own_condition(comparison, *own)
    path = context_path(comparison.path)
    at_path = "SELECT memory_id AS id FROM json_values WHERE path_id = (SELECT id FROM json_paths WHERE path = ?)"
    if comparison.operator == "$exists":
        source = Source(at_path, (path,))
        return in_source(source) if comparison.operand else Condition(f"m.id NOT IN ({at_path})", (path,))
    test, operands = _test("value", comparison)
    source = Source(f"{at_path} AND {test}", (path, *operands))
    if comparison.operator in ("$eq", "$in"):
        return Condition(f"EXISTS ({source.sql} AND memory_id = m.id)", source.arguments, source)
    return _json_condition(comparison, path, source)


@dataclass(frozen=True)
class ContextFilter(Wanted):
    """A filter as a condition: all of its comparisons must hold."""

    comparisons: tuple[Comparison, ...]
    decay: Decay

    def conditions(self, connection: sqlite3.Connection) -> tuple[Condition, ...]:
        """Return it in SQL, each comparison by itself.

        Raises:
            InvalidFieldError: a path goes into a list.
        """
        for comparison in self.comparisons:
            _check_path(connection, comparison)
        return tuple(condition(comparison, self.decay) for comparison in self.comparisons)


def context_path(path: str) -> str:
    """Return the path into the context that the path of a comparison names; empty for a field of the memory itself."""
    return "" if path in OWN_FIELDS else path.removeprefix("context.")


_LIST_ON_PATH = """
    SELECT path FROM json_paths AS p WHERE path = ?
    AND EXISTS (SELECT 1 FROM json_values WHERE path_id = p.id AND value = x'5b')
"""
"""Whether a path leads to a list in some memory."""


def _check_path(connection: sqlite3.Connection, comparison: Comparison) -> None:
    # A path may end at a list, but not go through one.
    parts = context_path(comparison.path).split(".")
    for prefix in (".".join(parts[:length]) for length in range(1, len(parts))):
        if connection.execute(_LIST_ON_PATH, (prefix,)).fetchone():
            known = connection.execute("SELECT 1 FROM json_paths WHERE path = ?", (comparison.path,)).fetchone()
            if not known:
                why = f"goes into the list {prefix!r}; a path leads through objects only"
                raise InvalidFieldError("context_filter", comparison.path, why)


def _comparison(field: str, path: str, operator: str, operand: object) -> Comparison:
    if operator not in OPERATORS:
        raise InvalidFieldError(field, operator, f"is an unknown operator; there are {', '.join(OPERATORS)}")
    where = field if operator == "$eq" else f"{field}.{operator}"
    if operator in _ORDER and (isinstance(operand, bool) or not isinstance(operand, (int, float, str))):
        raise InvalidFieldError(where, operand, "must be a number or a text")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidFieldError(where, operand, "must be true or false")
    if operator == "$in" and (not isinstance(operand, list) or any(isinstance(item, (dict, list)) for item in operand)):
        raise InvalidFieldError(where, operand, "must be a list of numbers, texts, booleans or nulls")
    if operator in ("$eq", "$ne") and isinstance(operand, (dict, list)):
        raise InvalidFieldError(where, operand, "cannot be compared; compare a number, text, boolean or null")
    return Comparison(path, operator, _keyed(operand) if path == "label" else operand)


def _keyed(operand: object) -> object:
    if isinstance(operand, list):
        return [_keyed(item) for item in operand]
    return label_key(operand) if isinstance(operand, str) else operand


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
    return f"{value} {'<>' if operator == '$ne' else '='} ?", operands


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
    same_kind = f"{kind} = 'text'" if isinstance(operand, str) else f"{kind} IN ('integer', 'real')"
    if comparison.operator == "$ne":
        sql = f"{kind} IS NOT NULL AND NOT ({same_kind} AND {value} = ?)"
        return Condition(sql, (json_path, json_path, json_path, _sql_value(operand)), source)
    sql = f"{same_kind} AND {value} {_ORDER[comparison.operator]} ?"
    return Condition(sql, (json_path, json_path, _sql_value(operand)), source)


def _own_condition(comparison: Comparison, column: str, kind: type) -> Condition:
    # Only an object has a value where the kind is a whole number or a boolean.
    present = f"{column} <> ''" if kind is str else "1" if kind is float else f"{column} IS NOT NULL"
    if comparison.operator == "$exists":
        wanted = f"coalesce({present}, 0)"
        return Condition(wanted if comparison.operand else f"NOT {wanted}")
    # The unary + keeps a column's affinity out of the comparison: the text '5' must not become the number 5.
    test, operands = _test(f"+({column})", comparison)
    return Condition(f"{present} AND {test}", operands, _own_source(comparison, operands))


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
