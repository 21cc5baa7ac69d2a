"""Writes vectors and the files of their index to their tables and reads them back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .functions import text_digest

_LAST = 2**63 - 1
_PENDING = """
    SELECT m.id, m.content FROM memories AS m LEFT JOIN memories_vec AS v ON v.memory_id = m.id
    WHERE v.memory_id IS NULL AND m.status = 'active' AND m.id > ? ORDER BY m.id LIMIT ?
"""


class SegmentRow(NamedTuple):
    """A file of the index: it covers the ids behind `low` up to `high`, and holds so many `vectors`."""

    low: int
    high: int
    vectors: int
    checksum: int
    file: str


def pending(connection: sqlite3.Connection, last_id: int, limit: int) -> list[tuple[int, str]]:
    """Active memories after `last_id` without a vector, and their texts, oldest first."""
    return connection.execute(_PENDING, (last_id, limit)).fetchall()


def store(connection: sqlite3.Connection, kept: Iterable[tuple[int, str, bytes | None]]) -> bool:
    """Gives memories the vectors of their texts: id, text, and the vector, or None where it should be here already.

    A memory that was corrected meanwhile waits for the vector of its new text. False where a vector that should be here
    is gone, because the last memory with that text went meanwhile.
    """
    complete = True
    for memory_id, text, embedding in kept:
        row = connection.execute("SELECT content FROM memories WHERE id = ? AND status = 'active'", (memory_id,))
        if row.fetchone() != (text,):
            continue
        digest = text_digest(text)
        if embedding is not None:
            connection.execute(
                "INSERT INTO vectors (digest, embedding) VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, embedding)
            )
        vector = connection.execute("SELECT id FROM vectors WHERE digest = ?", (digest,)).fetchone()
        if vector is None:
            complete = False
            continue
        connection.execute("INSERT INTO memories_vec VALUES (?, ?) ON CONFLICT DO NOTHING", (memory_id, vector[0]))
    return complete


def known(connection: sqlite3.Connection, texts: Iterable[str]) -> set[str]:
    """Those of some texts whose vector is kept."""
    digests = {text_digest(text): text for text in texts}
    rows = connection.execute(
        "SELECT digest FROM vectors WHERE digest IN (SELECT value FROM json_each(?))", (json.dumps(list(digests)),)
    )
    return {digests[digest] for (digest,) in rows}


def clear(connection: sqlite3.Connection) -> None:
    """Forgets all vectors and the files of their index."""
    for table in ("memories_vec", "vectors", "vector_segments"):
        connection.execute(f"DELETE FROM {table}")


def after(connection: sqlite3.Connection, low: int, limit: int, high: int = _LAST) -> list[tuple[int, bytes]]:
    """The next vectors with an id greater than `low`, up to `high`, in the order of their ids, as they are kept."""
    return connection.execute(
        "SELECT id, embedding FROM vectors WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", (low, high, limit)
    ).fetchall()


def named(connection: sqlite3.Connection, ids: Sequence[int]) -> list[tuple[int, bytes]]:
    """The vectors with these ids that are still there, as they are kept."""
    return connection.execute(
        "SELECT v.id, v.embedding FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.id = j.value", (json.dumps(ids),)
    ).fetchall()


def count_after(connection: sqlite3.Connection, low: int, limit: int) -> int:
    """How many vectors have an id greater than `low`; counting ends at `limit`."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE id > ? LIMIT ?)"
    return int(connection.execute(sql, (low, limit)).fetchone()[0])


def count_all(connection: sqlite3.Connection) -> int:
    """How many vectors there are; counts them one by one."""
    return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])


def segments(connection: sqlite3.Connection) -> list[SegmentRow]:
    """The files of the index, in the order of their ids."""
    rows = connection.execute("SELECT low, high, count, checksum, file FROM vector_segments ORDER BY low")
    return [SegmentRow(*row) for row in rows]


def set_segments(connection: sqlite3.Connection, rows: Iterable[SegmentRow]) -> None:
    """Writes which files the index is made of."""
    connection.execute("DELETE FROM vector_segments")
    connection.executemany("INSERT INTO vector_segments VALUES (?, ?, ?, ?, ?)", rows)
