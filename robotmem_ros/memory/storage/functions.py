"""The SQL functions that the triggers and queries call, registered on every connection.

They are deterministic, so a program that lacks them cannot write half a memory: its statement fails as a whole.
"""

from __future__ import annotations

import math
import sqlite3

import numpy as np

from ..text.normal_form import digest, label_key, text_key
from . import codec
from .indexing.fact_words import fact_signature, fact_words
from .indexing.json_values import context_contains, context_equals, context_values
from .indexing.positions import context_positions
from .indexing.text import distinct_words, holds_words, indexed_text, word_count
from .indexing.vectors import embedded_text, text_digest


def register(connection: sqlite3.Connection) -> None:
    """Register the functions on a connection, and those of sqlite-vec if it can be loaded."""
    connection.create_function("only_robotmem_ros_inserts_memories", 0, lambda: 1, deterministic=True)
    connection.create_function("indexed_text", 1, indexed_text, deterministic=True)
    connection.create_function("distinct_words", -1, distinct_words, deterministic=True)
    connection.create_function("word_count", -1, word_count, deterministic=True)
    connection.create_function("holds_words", -1, holds_words, deterministic=True)
    connection.create_function("text_key", 1, text_key, deterministic=True)
    connection.create_function("label_key", 1, label_key, deterministic=True)
    connection.create_function("context_values", 1, context_values, deterministic=True)
    connection.create_function("context_contains", 3, context_contains, deterministic=True)
    connection.create_function("context_equals", 3, context_equals, deterministic=True)
    connection.create_function("context_positions", 1, context_positions, deterministic=True)
    connection.create_function("content_digest", 1, digest, deterministic=True)
    connection.create_function("fact_words", 2, fact_words, deterministic=True)
    connection.create_function("fact_signature", 2, fact_signature, deterministic=True)
    connection.create_function("embedded_text", 3, embedded_text, deterministic=True)
    connection.create_function("text_digest", 1, text_digest, deterministic=True)
    connection.create_function("kept_distance", 2, kept_distance, deterministic=True)
    if _lacks_pow(connection):
        connection.create_function("pow", 2, math.pow, deterministic=True)
    if missing_sqlite_vec(connection):
        connection.create_function("vec_int8", 1, bytes, deterministic=True)
        connection.create_function("vec_distance_cosine", 2, cosine_distance, deterministic=True)


def missing_sqlite_vec(connection: sqlite3.Connection) -> str:
    """Load sqlite-vec, and return why it cannot be loaded; empty if it is."""
    try:
        import sqlite_vec
    except ImportError:
        return "sqlite-vec is not installed (pip install sqlite-vec); vectors are compared by numpy"
    if not hasattr(connection, "enable_load_extension"):
        return "this Python cannot load SQLite extensions (use the system's python3); vectors are compared by numpy"
    try:
        connection.enable_load_extension(True)
        try:
            sqlite_vec.load(connection)
        finally:
            connection.enable_load_extension(False)
    except sqlite3.OperationalError as cause:
        return f"sqlite-vec could not be loaded ({cause}); vectors are compared by numpy"
    return ""


def cosine_distance(left: bytes, right: bytes) -> float:
    """Return 1 - cosine similarity of two vectors of signed bytes, as sqlite-vec computes it."""
    a, b = np.frombuffer(left, np.int8).astype(np.float32), np.frombuffer(right, np.int8).astype(np.float32)
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return 1.0 - float(a @ b) / lengths if lengths else 1.0


def kept_distance(kept: bytes, query: bytes) -> float:
    """Return the cosine distance of a kept vector to a float32 vector; 2, the greatest, where their lengths differ."""
    vector = np.frombuffer(query, np.float32)
    return float(codec.distances([kept], vector)[0]) if len(kept) == codec.size(len(vector)) else 2.0


def _lacks_pow(connection: sqlite3.Connection) -> bool:
    # SQLite can be built without its mathematical functions.
    try:
        connection.execute("SELECT pow(1.0, 0)")
    except sqlite3.OperationalError:
        return True
    return False
