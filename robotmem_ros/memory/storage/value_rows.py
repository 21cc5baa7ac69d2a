"""Index the values of contexts by dot path, as `context_path.join` writes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from ..context_path import quote
from ..validation import MAX_COORDINATE
from .indexed_row import Rows
from .snapshot import Transaction

_INT64 = 2**63
_PATH_IDS = "SELECT p.path, p.id FROM json_each(?) AS j CROSS JOIN json_paths AS p ON p.path = j.value"
# By the whole key: `(path_id, value) IN (SELECT ...)` would search by the path alone, and read all its values.
_DELETE = "DELETE FROM json_values WHERE path_id = ? AND value = ? AND memory_id = ?"
ENTRIES = """
    SELECT v.memory_id, p.path, v.value FROM json_values AS v JOIN json_paths AS p ON p.id = v.path_id
    WHERE v.memory_id {ids}
"""
"""The values of memories, see `indexing.Index`."""
TAGS = "SELECT memory_id, tag FROM memory_tags WHERE memory_id {ids}"
"""The tags of memories, see `indexing.Index`."""
_Values = Sequence[tuple[str, object]]


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the values of old rows in the index by those of new rows."""
    outdated, new_entries = _entries(old), _entries(new)
    if outdated and new_entries:
        # By their representations: 1, 1.0 and true are equal in Python.
        before, after = ({repr(entry): entry for entry in entries} for entries in (outdated, new_entries))
        outdated = [entry for key, entry in before.items() if key not in after]
        new_entries = [entry for key, entry in after.items() if key not in before]
    ids = _path_ids(transaction, [*{path: 0 for path, *_ in (*outdated, *new_entries)}])
    transaction.executemany(_DELETE, [(ids[path], value, memory_id) for path, value, memory_id in outdated])
    rows = [(ids[path], value, memory_id) for path, value, memory_id in new_entries]
    transaction.insert("json_values (path_id, value, memory_id)", "(?, ?, ?)", rows)


def clear(transaction: Transaction) -> None:
    """Empty the index of values."""
    transaction.execute("DELETE FROM json_values")
    transaction.execute("DELETE FROM json_paths")


def exchange_tags(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the tags of old rows in their index by those of new rows."""
    before, after = ({(tag, row.id) for row in rows for tag in json.loads(row.tags)} for rows in (old, new))
    transaction.executemany("DELETE FROM memory_tags WHERE tag = ? AND memory_id = ?", before - after)
    transaction.insert("memory_tags (tag, memory_id)", "(?, ?)", sorted(after - before))


def clear_tags(transaction: Transaction) -> None:
    """Empty the index of tags."""
    transaction.execute("DELETE FROM memory_tags")


@lru_cache(maxsize=64)  # values and positions follow from the same context
def values_of(context: str) -> _Values:
    """Return the values of a context with their dot paths, objects and lists among them."""
    values: list[tuple[str, object]] = []
    root = {} if context == "{}" else json.loads(context)
    if isinstance(root, dict):
        _collect(root, "", values)
    return values


def points(values: _Values) -> Iterator[tuple[str, list[float]]]:
    """Return the arrays of two or three numbers among the values of a context, with their dot paths.

    Arrays with numbers too large for a position, such as a window of times, are left out.
    """
    for path, value in values:
        if isinstance(value, list) and len(value) in (2, 3) and all(_is_coordinate(part) for part in value):
            yield path, [float(part) for part in value]


def _is_coordinate(value: object) -> bool:
    return isinstance(value, (int, float)) and type(value) is not bool and abs(value) <= MAX_COORDINATE


def _collect(value: dict[str, object], prefix: str, values: list[tuple[str, object]]) -> None:
    for name, item in value.items():
        path = prefix + quote(name)
        values.append((path, item))
        if isinstance(item, dict):
            _collect(item, f"{path}.", values)


def _entries(rows: Rows) -> list[tuple[str, object, int]]:
    values = [(row.id, values_of(row.context)) for row in rows if row.context != "{}"]
    return [(path, _column_value(value), memory_id) for memory_id, of in values for path, value in _with_elements(of)]


def _with_elements(values: _Values) -> Iterator[tuple[str, object]]:
    # The texts in a list have its path with a dot at its end, which the path of no value has.
    for path, value in values:
        yield path, value
        if isinstance(value, list):
            yield from ((f"{path}.", text) for text in {item: 0 for item in value if type(item) is str})


def _column_value(value: object) -> object:
    # Numbers and texts as such, the rest as a blob, see schema.sql.
    kind = type(value)
    if kind is str or kind is float:
        return value
    if kind is bool:
        return b"\x01" if value else b"\x00"
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else float(value)
    return b"" if value is None else b"[" if kind is list else b"{"


def _path_ids(transaction: Transaction, paths: Collection[str]) -> dict[str, int]:
    if not paths:
        return {}
    paths_json = json.dumps(list(paths), ensure_ascii=False)
    ids = dict(transaction.rows(_PATH_IDS, (paths_json,)))
    if len(ids) == len(paths):
        return ids
    transaction.execute(
        "INSERT INTO json_paths (path) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING", (paths_json,)
    )
    return dict(transaction.rows(_PATH_IDS, (paths_json,)))
