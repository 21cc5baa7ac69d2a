"""The SQL functions that the triggers and queries call, registered on every connection.

They are deterministic, so a program that lacks them cannot write half a memory: its statement fails as a whole.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ..embedding import codec
from ..language.tokens import indexed_text


def register(connection: sqlite3.Connection) -> None:
    """Makes the functions of this file known to a connection."""
    connection.create_function("indexed_text", 1, indexed_text, deterministic=True)
    connection.create_function("context_leaves", 1, context_leaves, deterministic=True)
    connection.create_function("context_positions", 1, context_positions, deterministic=True)
    connection.create_function("text_digest", 1, text_digest, deterministic=True)
    connection.create_function("kept_vector", 1, kept_vector, deterministic=True)


@lru_cache(maxsize=8)  # the triggers ask several times for the same context
def context_leaves(context: str) -> str:
    """The values of a context by dot path, as a JSON object; lists and objects stand as empty ones.

    A name that is empty or contains a dot cannot be addressed by a path and is left out.
    """
    return json.dumps(dict(_leaves(json.loads(context), "")), ensure_ascii=False)


@lru_cache(maxsize=8)
def context_positions(context: str) -> str:
    """The arrays of two or three numbers under `spatial`, by dot path, as a JSON object."""
    parsed = json.loads(context)
    spatial = parsed.get("spatial") if isinstance(parsed, dict) else None
    if not isinstance(spatial, dict):
        return "{}"
    return json.dumps(dict(_positions(spatial, "spatial")))


def text_digest(text: str) -> int:
    """64 bits that stand for a text: of a million texts, two agree with a probability of 3 in 100 million."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def kept_vector(vector: bytes) -> bytes:
    """A float32 vector in the form in which vectors are kept."""
    return codec.encode(np.frombuffer(vector, np.float32)[np.newaxis])[0]


def _children(value: dict[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key, item in value.items():
        if key and "." not in key:
            yield (f"{path}.{key}" if path else key), item


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for child_path, item in _children(value, path):
            yield child_path, {} if isinstance(item, dict) else [] if isinstance(item, list) else item
            if isinstance(item, dict):
                yield from _leaves(item, child_path)


def _positions(value: dict[str, object], path: str) -> Iterator[tuple[str, list[float]]]:
    for child_path, item in _children(value, path):
        if isinstance(item, dict):
            yield from _positions(item, child_path)
        elif isinstance(item, list) and len(item) in (2, 3) and all(_is_number(part) for part in item):
            yield child_path, [float(part) for part in item]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
