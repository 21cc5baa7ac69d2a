"""The condition `context_filter`: comparisons, joined by `$and`, `$or` and `$not`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .. import validation
from ..errors import InvalidFieldError, did_you_mean, shown
from ..storage.decay import Decay
from ..text.normal_form import label_key
from .candidates import NAMES, Condition, Wanted, any_of, joined
from .comparison import OPERATORS, OWN_FIELDS, Comparison, conditions, context_path

_FIELD = "context_filter"
MAX_COMPARISONS, MAX_VALUES, MAX_DEPTH = 100, 1000, 8
"""Comparisons of a filter, values of an `$in`, and joins within joins, which SQLite reads within its own limits."""
_TOLD = 3
"""How many unknown paths are named."""
JOINS = ("$and", "$or", "$not")
_ORDERED = ("$lt", "$lte", "$gt", "$gte")
_OTHER_NAMES = {
    "observed_at": "`after` and `before`, or `stamp` in seconds",
    "time": "`after` and `before`, or `stamp` in seconds",
    "type": "`kinds`, or `kind` and `perception_type`",
    "kinds": "`kinds`, or `kind`",
    "categories": "`categories`, or `category`",
    "labels": "`labels`, or `label`",
    "any_tags": "`any_tags`, or `tags`",
    "ids": "`ids`, or `id`",
    "session": "`session_ids`, or `session_id`",
    "session_ids": "`session_ids`, or `session_id`",
    "collections": "`collections`",
    "min_confidence": "`min_confidence`, or `confidence`",
    "area": "`areas`, or `spatial.area`",
    "areas": "`areas`, or `spatial.area`",
    **dict.fromkeys(("pose", "position", "distance", "x", "y", "z"), "`near`, `within` or `spatial_sort`"),
}
"""Names that mean something of the memory, and what asks for it: a field of the request, or a name in a filter."""


@dataclass(frozen=True)
class Join:
    """Filters joined by `$or` or `$and`, or one after `$not`; of the parts of each filter, all must hold."""

    operator: str
    filters: tuple[tuple[Comparison | Join, ...], ...]


Part = Comparison | Join


@dataclass(frozen=True)
class ContextFilter(Wanted):
    """A filter as a condition: all of its parts must hold."""

    parts: tuple[Part, ...]
    decay: Decay

    @property
    def comparisons(self) -> Iterator[Comparison]:
        """Return all comparisons, joined ones too."""
        return _comparisons_of(self.parts)

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL, each part by itself.

        Raises:
            InvalidFieldError: a path goes into a list, or names what is no part of a context.
        """
        for comparison in self.comparisons:
            _check_path(connection, comparison)
        return [condition for part in self.parts for condition in self._in_sql(part)]

    def notes(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Name the paths that no context ever had, and near ones that there are."""
        paths = {context_path(comparison.path): comparison.path for comparison in self.comparisons}
        unknown = [path for path in paths if path and not _is_known(connection, path)]
        for path in unknown[:_TOLD]:
            seen = connection.execute("SELECT path FROM json_paths WHERE path NOT LIKE '%.' LIMIT ?", (NAMES,))
            others = did_you_mean(path, [*OWN_FIELDS, *(name for (name,) in seen)])
            yield f"context_filter: no memory ever had {shown(paths[path])}{others}"
        if len(unknown) > _TOLD:
            yield f"nor {len(unknown) - _TOLD} other paths of the filter"

    def _in_sql(self, part: Part) -> Sequence[Condition]:
        if isinstance(part, Comparison):
            return conditions(part, self.decay)
        filters = [[one for inner in parts for one in self._in_sql(inner)] for parts in part.filters]
        if part.operator == "$and":
            return [condition for filter_ in filters for condition in filter_]
        either = any_of([filter_[0] if len(filter_) == 1 else _all_of(filter_) for filter_ in filters])
        # What is not known to hold does not.
        return [either if part.operator == "$or" else Condition(f"NOT coalesce({either.check}, 0)", either.arguments)]


def parse_filter(context_filter: object, *, limit: int) -> tuple[Part, ...]:
    """Parse a filter into parts, all of which must hold.

    Raises:
        InvalidFieldError: it is no JSON object, a path is malformed, an operator unknown, or an operand unfit for it.
    """
    parts = tuple(_parts(_FIELD, validation.json_object(_FIELD, context_filter, limit=limit)))
    if (depth := _depth(parts)) > MAX_DEPTH:
        why = f"are nested too deeply; at most {MAX_DEPTH} of {', '.join(JOINS)} may stand within each other"
        raise InvalidFieldError(_FIELD, f"{depth} joins", why)
    count = sum(1 for _ in _comparisons_of(parts))
    if count > MAX_COMPARISONS:
        why = f"are too many; at most {MAX_COMPARISONS} are allowed, and $in compares with many values at once"
        raise InvalidFieldError(_FIELD, f"{count} comparisons", why)
    return parts


def _depth(parts: Sequence[Part]) -> int:
    return max((1 + max(map(_depth, part.filters)) for part in parts if isinstance(part, Join)), default=0)


def _parts(field: str, given: Mapping[str, object]) -> Iterator[Part]:
    for path, wanted in given.items():
        if path in JOINS:
            yield _join(f"{field}.{path}", path, wanted)
            continue
        if path.startswith("$"):
            known = ", ".join(JOINS)
            raise InvalidFieldError(field, path, f"is an unknown operator; {known} join filters, others follow a path")
        if not all(path.split(".")):
            raise InvalidFieldError(field, path, "is no dot path such as task.success")
        if path.startswith("tags."):
            why = (
                f"goes into the tags of a memory, which are a list; a key of that name in the context is context.{path}"
            )
            raise InvalidFieldError(field, path, why)
        yield from _comparisons(f"{field}.{path}", path, wanted)


def _join(field: str, operator: str, wanted: object) -> Join:
    filters = [wanted] if operator == "$not" else wanted
    if not isinstance(filters, list) or not filters or not all(isinstance(one, dict) and one for one in filters):
        shape = "a filter" if operator == "$not" else "a list of filters"
        raise InvalidFieldError(field, wanted, f"must be {shape}, each a JSON object with at least one condition")
    return Join(operator, tuple(tuple(_parts(field, one)) for one in filters))


def _comparisons(field: str, path: str, wanted: object) -> Iterator[Part]:
    if not isinstance(wanted, dict):
        yield _comparison(field, path, "$eq", wanted)
        return
    if not wanted:
        raise InvalidFieldError(field, wanted, f"needs an operator: {', '.join(OPERATORS)}")
    for operator, operand in wanted.items():
        if operator == "$not":
            if not isinstance(operand, dict):
                raise InvalidFieldError(
                    f"{field}.$not", operand, 'must be an operator with its value, as in {"$gt": 5}'
                )
            yield Join("$not", (tuple(_comparisons(f"{field}.$not", path, operand)),))
        else:
            yield _comparison(field, path, operator, operand)


def _comparison(field: str, path: str, operator: str, operand: object) -> Comparison:
    if operator not in OPERATORS:
        raise InvalidFieldError(field, operator, f"is an unknown operator; there are {', '.join(OPERATORS)} and $not")
    where = field if operator == "$eq" else f"{field}.{operator}"
    if operator in _ORDERED and (isinstance(operand, bool) or not isinstance(operand, (int, float, str))):
        raise InvalidFieldError(where, operand, "must be a number or a text")
    if operator == "$prefix" and not isinstance(operand, str):
        raise InvalidFieldError(where, operand, "must be a text")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidFieldError(where, operand, "must be true or false")
    if operator == "$in" and (not isinstance(operand, list) or any(isinstance(item, (dict, list)) for item in operand)):
        raise InvalidFieldError(where, operand, "must be a list of numbers, texts, booleans or nulls")
    if isinstance(operand, list) and len(operand) > MAX_VALUES:
        raise InvalidFieldError(where, f"{len(operand)} values", f"are too many; give at most {MAX_VALUES}")
    if operator in ("$eq", "$ne") and isinstance(operand, dict):
        why = "cannot be compared; compare a number, text, boolean, null or list, or name the path of a value in it"
        raise InvalidFieldError(where, operand, why)
    _check_own(where, path, operator, operand)
    return Comparison(path, operator, _keyed(operand) if path == "label" else operand)


def _check_own(where: str, path: str, operator: str, operand: object) -> None:
    if path not in OWN_FIELDS:
        return
    if path == "tags":
        if operator not in ("$contains", "$exists") or (operator == "$contains" and not isinstance(operand, str)):
            why = 'cannot be compared with tags; use {"$contains": "a tag"}, or the fields `tags` and `any_tags`'
            raise InvalidFieldError(where, operand, why)
    elif operator == "$contains" or (operator in ("$eq", "$ne") and isinstance(operand, list)):
        raise InvalidFieldError(where, operand, f"cannot be compared: `{path}` of a memory is no list")


def _keyed(operand: object) -> object:
    if isinstance(operand, list):
        return [_keyed(item) for item in operand]
    return label_key(operand) if isinstance(operand, str) else operand


def _comparisons_of(parts: Sequence[Part]) -> Iterator[Comparison]:
    for part in parts:
        if isinstance(part, Comparison):
            yield part
        else:
            for inner in part.filters:
                yield from _comparisons_of(inner)


def _all_of(every: Sequence[Condition]) -> Condition:
    return Condition(*joined("AND", every)[:2])


_LIST_ON_PATH = """
    SELECT path FROM json_paths AS p WHERE path = ?
    AND EXISTS (SELECT 1 FROM json_values WHERE path_id = p.id AND value = x'5b')
"""
"""Whether a path leads to a list in some memory."""


def _check_path(connection: sqlite3.Connection, comparison: Comparison) -> None:
    path = context_path(comparison.path)
    prefixes = [path[:at] for at, character in enumerate(path) if character == "."]
    if (not prefixes and comparison.path not in _OTHER_NAMES) or _is_known(connection, path):
        return
    if comparison.path in _OTHER_NAMES:
        right = _OTHER_NAMES[comparison.path]
        why = f"is no key of any context. For the memory itself use {right}; a key in the context is context.{path}"
        raise InvalidFieldError(_FIELD, path, why)
    # A path may end at a list, but not go through one.
    for prefix in prefixes:
        if connection.execute(_LIST_ON_PATH, (prefix,)).fetchone():
            raise InvalidFieldError(_FIELD, path, f"goes into the list {prefix!r}; a path leads through objects only")


def _is_known(connection: sqlite3.Connection, path: str) -> bool:
    return connection.execute("SELECT 1 FROM json_paths WHERE path = ?", (path,)).fetchone() is not None
