"""The values of contexts by dot path: what conditions look up."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from ...models import NewMemory
from .. import bulk
from ..context_values import json_values, stored

_EMPTY = "{}"


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> list[object]:
    """Adds the values of contexts to their index; the contexts, parsed, in the order of the memories."""
    contexts = [{} if new.context == _EMPTY else json.loads(new.context) for _, new in added]
    by_path: dict[str, list[tuple[object, int]]] = {}
    for (memory_id, _), context in zip(added, contexts, strict=True):
        for path, value in json_values(context):
            by_path.setdefault(path, []).append((stored(value), memory_id))
    ids = _path_ids(connection, by_path)
    rows = [(ids[path], value, memory_id) for path, values in by_path.items() for value, memory_id in values]
    bulk.insert(connection, "json_values (path_id, value, memory_id)", "(?, ?, ?)", rows)
    return contexts


def _path_ids(connection: sqlite3.Connection, paths: dict[str, list[tuple[object, int]]]) -> dict[str, int]:
    wanted = json.dumps(list(paths), ensure_ascii=False)
    connection.execute(
        "INSERT INTO json_paths (path) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING", (wanted,)
    )
    return dict(
        connection.execute(
            "SELECT p.path, p.id FROM json_each(?) AS j CROSS JOIN json_paths AS p ON p.path = j.value", (wanted,)
        )
    )
