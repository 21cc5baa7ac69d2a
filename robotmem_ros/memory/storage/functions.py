"""The SQL functions that the triggers and queries call, registered on every connection.

They are deterministic, so a program that lacks them cannot write half a memory: its statement fails as a whole.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from ..text.normal_form import digest, label_key, text_key
from ..text.tokens import indexed_text
from . import codec
from .fact_index import fact_terms
from .indexing import json_values, points, with_elements
from .vector_rows import embedded_text, text_digest

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_ABSENT = object()
_INSTEAD = "without room in RAM, numpy compares vectors"


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


def distinct_words(*indexed: str) -> str:
    """Return the different words of indexed texts as a JSON array."""
    return json.dumps(sorted({word for text in indexed for word in text.split()}), ensure_ascii=False)


def word_count(*indexed: str) -> int:
    """Return how many words indexed texts have together."""
    return sum(len(text.split()) for text in indexed)


def holds_words(wanted: str, *indexed: str) -> bool:
    """Return whether indexed texts hold all of some words or phrases, one on each line of `wanted`."""
    return holds_all(wanted.split("\n"), " | ".join(indexed))


def holds_all(wanted: Iterable[str], indexed: str) -> bool:
    """Return whether an indexed text holds all of some words or phrases."""
    indexed = f" {indexed} "
    return all(f" {one} " in indexed for one in wanted)


@lru_cache(maxsize=8)  # triggers need the same context several times
def context_values(context: str) -> str:
    """Return the values of a context by dot path, as a JSON object; lists and objects stand as empty ones.

    The path of the texts in a list stands once for each of them.
    """
    found = with_elements(json_values(json.loads(context)))
    scalars = ((path, type(value)() if isinstance(value, (dict, list)) else value) for path, value in found)
    return f"{{{','.join(f'{_ENCODE(path)}:{_ENCODE(value)}' for path, value in scalars)}}}"


def context_contains(context: str, path: str, wanted: str) -> int | None:
    """Return whether the list at a path of a context contains a value, given as JSON; None if there is no list."""
    value, operand = _at(json.loads(context), path), _parsed(wanted)
    return any(_same(item, operand) for item in value) if isinstance(value, list) else None


def context_equals(context: str, path: str, wanted: str) -> int | None:
    """Return whether the value at a path of a context is a value, given as JSON; None if there is none."""
    value = _at(json.loads(context), path)
    return None if value is _ABSENT else _same(value, _parsed(wanted))


def _same(one: object, other: object) -> bool:
    """Tell whether two JSON values are the same: `true` is not 1, and 1 is 1.0."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@lru_cache(maxsize=8)  # triggers need the same context several times
def context_positions(context: str) -> str:
    """Return the arrays of two or three numbers of a context, by field, as a JSON object."""
    return json.dumps(dict(points(json_values(json.loads(context)))))


def fact_words(collection: str, content: str) -> str:
    """Return the numbers of the terms of a fact, as a JSON array."""
    terms = fact_terms(collection, content)
    return json.dumps([*terms.words, *terms.claims])


def fact_signature(collection: str, content: str) -> int:
    """Return the signature of a fact."""
    return fact_terms(collection, content).signature


def cosine_distance(left: bytes, right: bytes) -> float:
    """Return 1 - cosine similarity of two vectors of signed bytes, as sqlite-vec computes it."""
    a, b = np.frombuffer(left, np.int8).astype(np.float32), np.frombuffer(right, np.int8).astype(np.float32)
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return 1.0 - float(a @ b) / lengths if lengths else 1.0


def kept_distance(kept: bytes, query: bytes) -> float:
    """Return the cosine distance of a kept vector to a float32 vector; 2, the greatest, where their lengths differ."""
    vector = np.frombuffer(query, np.float32)
    return float(codec.distances([kept], vector)[0]) if len(kept) == codec.size(len(vector)) else 2.0


@lru_cache(maxsize=8)  # the same operand for every memory
def _parsed(operand: str) -> object:
    return json.loads(operand)


def _at(value: object, path: str) -> object:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _lacks_pow(connection: sqlite3.Connection) -> bool:
    # SQLite can be built without its mathematical functions.
    try:
        connection.execute("SELECT pow(1.0, 0)")
    except sqlite3.OperationalError:
        return True
    return False
