"""The SQL functions that queries call, and a function without which other programs cannot write memories."""

from __future__ import annotations

import json
import math
import sqlite3
from functools import lru_cache

import numpy as np

from ..text.normal_form import digest

_ABSENT = object()
_INSTEAD = "without room in RAM, numpy compares vectors"


def register(connection: sqlite3.Connection) -> None:
    """Register the functions on a connection, and those of sqlite-vec if it can be loaded."""
    connection.create_function("only_robotmem_ros_writes_memories", 0, lambda: 1, deterministic=True)
    connection.create_function("context_contains", 3, context_contains, deterministic=True)
    connection.create_function("context_equals", 3, context_equals, deterministic=True)
    connection.create_function("content_digest", 1, digest, deterministic=True)
    if _lacks_mathematics(connection):
        connection.create_function("pow", 2, math.pow, deterministic=True)
        connection.create_function("ln", 1, math.log, deterministic=True)
    if missing_sqlite_vec(connection):
        connection.create_function("vec_int8", 1, bytes, deterministic=True)
        connection.create_function("vec_distance_cosine", 2, cosine_distance, deterministic=True)


def missing_sqlite_vec(connection: sqlite3.Connection) -> str:
    """Load sqlite-vec, and return why it cannot be loaded; empty if it was loaded."""
    try:
        import sqlite_vec
    except ImportError:
        return f"sqlite-vec is not installed (pip install sqlite-vec); {_INSTEAD}"
    if not hasattr(connection, "enable_load_extension"):
        return f"this Python cannot load SQLite extensions (use the system's python3); {_INSTEAD}"
    try:
        connection.enable_load_extension(True)
        try:
            sqlite_vec.load(connection)
        finally:
            connection.enable_load_extension(False)
    except sqlite3.OperationalError as cause:
        return f"sqlite-vec could not be loaded ({cause}); {_INSTEAD}"
    return ""


def context_contains(context: str, path: str, operand_json: str) -> int | None:
    """Return whether the list at a path of a context contains a value, given as JSON; None if there is no list."""
    value, operand = _at(json.loads(context), path), _parse(operand_json)
    return any(_are_equal(item, operand) for item in value) if isinstance(value, list) else None


def context_equals(context: str, path: str, operand_json: str) -> int | None:
    """Return whether the value at a path of a context is a value, given as JSON; None if there is none."""
    value = _at(json.loads(context), path)
    return None if value is _ABSENT else _are_equal(value, _parse(operand_json))


def _are_equal(first: object, second: object) -> bool:
    """Tell whether two JSON values are the same: `true` is not 1, and 1 is 1.0."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_are_equal(value, second[name]) for name, value in first.items())
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def cosine_distance(left: bytes, right: bytes) -> float:
    """Return 1 - cosine similarity of two vectors of signed bytes, as sqlite-vec computes it."""
    a, b = np.frombuffer(left, np.int8).astype(np.float32), np.frombuffer(right, np.int8).astype(np.float32)
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return 1.0 - float(a @ b) / lengths if lengths else 1.0


@lru_cache(maxsize=8)  # the same operand for every memory
def _parse(operand: str) -> object:
    return json.loads(operand)


def _at(value: object, path: str) -> object:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _lacks_mathematics(connection: sqlite3.Connection) -> bool:
    # SQLite can be built without its mathematical functions.
    try:
        connection.execute("SELECT pow(1.0, 0), ln(1.0)")
    except sqlite3.OperationalError:
        return True
    return False
