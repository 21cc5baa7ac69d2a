"""Facts of like wording in the database: candidates by text and by meaning, contradictions."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..clocks import iso
from ..models import Contradiction
from . import codec

CANDIDATES = 64
"""So many facts are looked at, of each kind."""


class Candidate(NamedTuple):
    """A fact that another one may be compared with."""

    id: int
    content: str
    context: str
    frame_id: str
    map_id: str
    confidence: float
    observed_at: int


CANDIDATE = "m.id, m.content, m.context, m.frame_id, m.map_id, m.confidence, m.observed_at"
"""Its columns of `memories AS m`."""


def with_digest(connection: sqlite3.Connection, collection: str, digest: str) -> list[Candidate]:
    """The active facts of a collection with this digest of their text, newest first, 64 at most."""
    found = connection.execute(
        f"SELECT {CANDIDATE} FROM memories AS m WHERE m.content_hash = ? AND m.collection = ? AND m.type = 'fact' "
        "AND m.status = 'active' ORDER BY m.id DESC LIMIT ?",
        (digest, collection, CANDIDATES),
    )
    return [Candidate(*row) for row in found]


def near(
    connection: sqlite3.Connection, collection: str, ids: Iterable[int], *, after_id: int, vector: bytes, cosine: float
) -> list[tuple[Candidate, float]]:
    """Of these facts and those stored after an id, the ones with at least this cosine similarity, nearest first."""
    query = np.frombuffer(vector, np.float32)
    found = connection.execute(
        f"SELECT {CANDIDATE}, v.embedding FROM memories AS m JOIN memories_vec AS mv ON mv.memory_id = m.id "
        "JOIN vectors AS v ON v.id = mv.vector_id WHERE length(v.embedding) = ? AND m.collection = ? "
        "AND m.type = 'fact' AND m.status = 'active' AND m.id IN (SELECT value FROM json_each(?) UNION ALL "
        "SELECT id FROM (SELECT id FROM memories WHERE id > ? ORDER BY id DESC LIMIT 512))",
        (codec.size(len(query)), collection, json.dumps(list(ids)), after_id),
    ).fetchall()
    similarities = 1.0 - codec.distances([kept for *_, kept in found], query)
    close = [
        (Candidate(*row), similarity)
        for (*row, _), similarity in zip(found, similarities.tolist(), strict=True)
        if similarity >= cosine
    ]
    return sorted(close, key=lambda one: (-one[1], -one[0].id))[:CANDIDATES]


def last_id(connection: sqlite3.Connection) -> int:
    """The greatest id of a memory; 0 when there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()[0])


def strengthen(connection: sqlite3.Connection, memory_id: int, confidence: float, observed_at: int) -> None:
    """Counts that a fact was learned again: its new confidence, and observed the later of both times."""
    connection.execute(
        "UPDATE memories SET confidence = ?, times_learned = times_learned + 1, updated_at = ?, "
        "observed_at = max(observed_at, ?) WHERE id = ?",
        (confidence, iso(time.time_ns()), observed_at, memory_id),
    )


def times_learned(connection: sqlite3.Connection, memory_id: int) -> int:
    """How often a fact was learned."""
    return int(connection.execute("SELECT times_learned FROM memories WHERE id = ?", (memory_id,)).fetchone()[0])


def link(connection: sqlite3.Connection, memory_id: int, others: Iterable[tuple[int, str]]) -> None:
    """Notes which facts a fact contradicts, and in what, in the place of what was noted before."""
    connection.execute(
        "DELETE FROM contradictions WHERE other_id = ?1 "
        "AND memory_id IN (SELECT other_id FROM contradictions WHERE memory_id = ?1)",
        (memory_id,),
    )
    connection.execute("DELETE FROM contradictions WHERE memory_id = ?", (memory_id,))
    pairs = [(memory_id, other, reason) for other, reason in others]
    connection.executemany(
        "INSERT INTO contradictions (memory_id, other_id, reason) VALUES (?1, ?2, ?3), (?2, ?1, ?3)", pairs
    )


def contradictions_of(connection: sqlite3.Connection, memory_id: int) -> tuple[Contradiction, ...]:
    """The active facts that contradict a fact, newest first."""
    found = connection.execute(
        "SELECT o.id, c.reason, o.content, (o.observed_at, o.id) > (m.observed_at, m.id) FROM contradictions AS c "
        "JOIN memories AS o ON o.id = c.other_id JOIN memories AS m ON m.id = c.memory_id "
        "WHERE c.memory_id = ? AND o.status = 'active' ORDER BY o.observed_at DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Contradiction(other, reason, content, bool(newer)) for other, reason, content, newer in found)
