"""The SQL functions that queries call, and a function without which other programs cannot write memories."""

from __future__ import annotations

import math
import sqlite3

import numpy as np

from ..text.normal_form import digest

_INSTEAD = "without room in RAM, numpy compares vectors"


def register(connection: sqlite3.Connection) -> None:
    """Register the functions on a connection, and those of sqlite-vec if it can be loaded."""
    connection.create_function("only_robotmem_ros_writes_memories", 0, lambda: 1, deterministic=True)
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


def cosine_distance(left: bytes, right: bytes) -> float:
    """Return 1 - cosine similarity of two vectors of signed bytes, as sqlite-vec computes it."""
    a, b = np.frombuffer(left, np.int8).astype(np.float32), np.frombuffer(right, np.int8).astype(np.float32)
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return 1.0 - float(a @ b) / lengths if lengths else 1.0


def _lacks_mathematics(connection: sqlite3.Connection) -> bool:
    # SQLite can be built without its mathematical functions.
    try:
        connection.execute("SELECT pow(1.0, 0), ln(1.0)")
    except sqlite3.OperationalError:
        return True
    return False
