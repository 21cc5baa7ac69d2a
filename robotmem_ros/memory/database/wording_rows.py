"""Facts of like wording in the database: candidates by their keys, repetitions, contradictions."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..embedding import codec
from ..records.fact import Contradiction, Repetition
from ..records.memory import NewMemory
from .wall_clock import iso, nanoseconds

_COUNTED = 500
_CANDIDATES = 64
_KEPT = 100


class Candidate(NamedTuple):
    """A fact that another one may be compared with."""

    id: int
    content: str
    context: str
    frame_id: str
    map_id: str
    confidence: float
    observed_at: int


_COLUMNS = "m.id, m.content, m.context, m.frame_id, m.map_id, m.confidence, m.observed_at"

# How many of the keys ?1 a fact has. Where few facts have one of the rare keys ?2, each of them is asked for all keys;
# else all that have any key are counted, which is quicker than to ask so many.
_OF_FEW = """
    SELECT k.memory_id, count(*) AS n
    FROM (SELECT DISTINCT memory_id FROM wording_keys WHERE key IN (SELECT value FROM json_each(?2))) AS rare
    CROSS JOIN json_each(?1) AS j CROSS JOIN wording_keys AS k ON k.key = j.value AND k.memory_id = rare.memory_id
"""
_OF_ALL = """
    SELECT k.memory_id, count(*) AS n FROM wording_keys AS k
    WHERE k.key IN (SELECT value FROM json_each(?1)) AND ?2 IS NOT NULL
"""


def with_digest(connection: sqlite3.Connection, collection: str, digest: str) -> list[Candidate]:
    """The active facts of a collection with this digest of their text, newest first, 64 at most."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM memories AS m WHERE m.content_hash = ? AND m.collection = ? AND m.type = 'fact' "
        "AND m.status = 'active' ORDER BY m.id DESC LIMIT ?",
        (digest, collection, _CANDIDATES),
    )
    return [Candidate(*row) for row in found]


def sharing(connection: sqlite3.Connection, keys: Sequence[int], least: int) -> list[Candidate]:
    """The active facts that share at least `least` of these keys: those with most, then the newest first; 64 at most.

    Who shares `least` of n keys has one of any n - least + 1: the rarest of them list the candidates. Chaudhuri, Ganti,
    Kaushik: A primitive operator for similarity joins in data cleaning, 2006.
    """
    if least > len(keys):
        return []
    counts = {key: _count(connection, key) for key in keys}
    rare = sorted(keys, key=lambda key: counts[key])[: len(keys) - least + 1]
    few = sum(counts[key] for key in rare) < _COUNTED
    found = connection.execute(
        f"WITH shared AS ({_OF_FEW if few else _OF_ALL} GROUP BY k.memory_id HAVING n >= ?3) "
        f"SELECT {_COLUMNS} FROM shared AS s CROSS JOIN memories AS m ON m.id = s.memory_id WHERE m.status = 'active' "
        "ORDER BY s.n DESC, m.id DESC LIMIT ?4",
        (json.dumps(list(keys)), json.dumps(rare), least, _CANDIDATES),
    )
    return [Candidate(*row) for row in found]


def least_shared(words: int, shared: int, similarity: float) -> int:
    """How many of `words` another text must have so that their Jaccard similarity can be this, `shared` counted in."""
    return max(1, math.ceil(round(similarity * (words + shared) - shared, 9)))


def near(
    connection: sqlite3.Connection, collection: str, ids: Iterable[int], *, after_id: int, vector: bytes, cosine: float
) -> list[tuple[Candidate, float]]:
    """Of these facts and those stored after an id, the ones with at least this cosine similarity, nearest first."""
    query = np.frombuffer(vector, np.float32)
    found = connection.execute(
        f"SELECT {_COLUMNS}, v.embedding FROM memories AS m JOIN memories_vec AS mv ON mv.memory_id = m.id "
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
    return sorted(close, key=lambda one: (-one[1], -one[0].id))[:_CANDIDATES]


def last_id(connection: sqlite3.Connection) -> int:
    """The greatest id of a memory; 0 when there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()[0])


def strengthen(
    connection: sqlite3.Connection, memory_id: int, confidence: float, context: str, observed_at: int
) -> None:
    """Notes that a fact was learned again: surer, with all that is known of it, observed the later of both times."""
    connection.execute(
        "UPDATE memories SET confidence = ?, times_learned = times_learned + 1, updated_at = ?, "
        "observed_at = max(observed_at, ?) WHERE id = ?",
        (confidence, iso(time.time_ns()), observed_at, memory_id),
    )
    connection.execute("UPDATE memories SET context = ?1 WHERE id = ?2 AND context <> ?1", (context, memory_id))


def keep_repetition(
    connection: sqlite3.Connection, of: Candidate, new: NewMemory, *, method: str, similarity: float
) -> None:
    """Keeps the words in which a fact was learned again, and what it was before; the last hundred."""
    connection.execute(
        "INSERT INTO repetitions (memory_id, repeated_at, session_id, content, method, similarity, confidence_before, "
        "observed_before) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (of.id, iso(time.time_ns()), new.session_id, new.content, method, similarity, of.confidence, of.observed_at),
    )
    connection.execute(
        "DELETE FROM repetitions WHERE memory_id = ?1 AND id <= "
        "(SELECT id FROM repetitions WHERE memory_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (of.id, _KEPT),
    )


def repetitions_of(connection: sqlite3.Connection, memory_id: int) -> tuple[int, tuple[Repetition, ...]]:
    """How often a fact was learned, and its last repetitions, oldest first."""
    times = connection.execute("SELECT times_learned FROM memories WHERE id = ?", (memory_id,)).fetchone()[0]
    found = connection.execute(
        "SELECT repeated_at, session_id, content, method, similarity, confidence_before, observed_before "
        "FROM repetitions WHERE memory_id = ? ORDER BY id",
        (memory_id,),
    )
    return int(times), tuple(Repetition(nanoseconds(at), *rest) for at, *rest in found)


def link(connection: sqlite3.Connection, memory_id: int, others: Iterable[tuple[int, str]]) -> None:
    """Notes which facts a fact contradicts, and in what, in the place of what was noted before."""
    connection.execute("DELETE FROM contradictions WHERE memory_id = ?1 OR other_id = ?1", (memory_id,))
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


def _count(connection: sqlite3.Connection, key: int) -> int:
    sql = "SELECT count(*) FROM (SELECT 1 FROM wording_keys WHERE key = ? LIMIT ?)"
    return int(connection.execute(sql, (key, _COUNTED)).fetchone()[0])
