"""The values of contexts by dot path, which conditions look up.

A name that is empty or contains a dot cannot be addressed by a path and is dropped.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...models import NewMemory
from .. import bulk

_INT64 = 2**63
_EMPTY = "{}"
_NO_VALUES: dict[str, object] = {}
_ABSENT = object()
_PATH_IDS = "SELECT p.path, p.id FROM json_each(?) AS j CROSS JOIN json_paths AS p ON p.path = j.value"
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> list[object]:
    """Add the values of contexts, and return the parsed contexts in the order of the memories."""
    contexts = [_NO_VALUES if new.context == _EMPTY else json.loads(new.context) for _, new in added]
    by_path: dict[str, list[tuple[object, int]]] = {}
    for (memory_id, _), context in zip(added, contexts, strict=True):
        for path, value in indexed_values(context):
            by_path.setdefault(path, []).append((stored(value), memory_id))
    if not by_path:
        return contexts
    ids = _path_ids(connection, by_path)
    rows = [(ids[path], value, memory_id) for path, values in by_path.items() for value, memory_id in values]
    bulk.insert(connection, "json_values (path_id, value, memory_id)", "(?, ?, ?)", rows)
    return contexts


@lru_cache(maxsize=8)  # triggers need the same context several times
def context_values(context: str) -> str:
    """Return the values of a context by dot path, as a JSON object; lists and objects stand as empty ones.

    The path of the texts in a list stands once for each of them.
    """
    found = indexed_values(json.loads(context))
    scalars = ((path, type(value)() if isinstance(value, (dict, list)) else value) for path, value in found)
    return f"{{{','.join(f'{_ENCODE(path)}:{_ENCODE(value)}' for path, value in scalars)}}}"


def context_contains(context: str, path: str, wanted: str) -> int | None:
    """Return whether the list at a path of a context contains a value, given as JSON; None if there is no list."""
    value, operand = _at(json.loads(context), path), _parsed(wanted)
    return any(same(item, operand) for item in value) if isinstance(value, list) else None


def context_equals(context: str, path: str, wanted: str) -> int | None:
    """Return whether the value at a path of a context is a value, given as JSON; None if there is none."""
    value = _at(json.loads(context), path)
    return None if value is _ABSENT else same(value, _parsed(wanted))


def same(one: object, other: object) -> bool:
    """Tell whether two JSON values are the same: `true` is not 1, and 1 is 1.0."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def indexed_values(context: object) -> Iterator[tuple[str, object]]:
    """Return the values of a context with their dot paths, and the texts in its lists, each once.

    Their path is that of the list with a dot at its end, which the path of no value has.
    """
    for path, value in json_values(context):
        yield path, value
        if isinstance(value, list):
            yield from ((f"{path}.", text) for text in dict.fromkeys(value_ for value_ in value if type(value_) is str))


def json_values(context: object) -> list[tuple[str, object]]:
    """Return the values of a context with their dot paths, objects and lists among them."""
    found: list[tuple[str, object]] = []
    if isinstance(context, dict):
        _collect(context, "", found)
    return found


def stored(value: object) -> object:
    """Return a value as the index has it: numbers and texts as such, the rest as a blob, see schema.sql."""
    kind = type(value)
    if kind is str or kind is float:
        return value
    if kind is bool:
        return b"\x01" if value else b"\x00"
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else float(value)
    return b"" if value is None else b"[" if kind is list else b"{"


def _path_ids(connection: sqlite3.Connection, paths: dict[str, list[tuple[object, int]]]) -> dict[str, int]:
    wanted = json.dumps(list(paths), ensure_ascii=False)
    known = dict(connection.execute(_PATH_IDS, (wanted,)))
    if len(known) == len(paths):
        return known
    connection.execute(
        "INSERT INTO json_paths (path) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING", (wanted,)
    )
    return dict(connection.execute(_PATH_IDS, (wanted,)))


@lru_cache(maxsize=8)  # the same operand for every memory
def _parsed(operand: str) -> object:
    return json.loads(operand)


def _at(value: object, path: str) -> object:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _collect(value: dict[str, object], prefix: str, found: list[tuple[str, object]]) -> None:
    for name, item in value.items():
        if name and "." not in name:
            found.append((prefix + name, item))
            if isinstance(item, dict):
                _collect(item, f"{prefix}{name}.", found)
