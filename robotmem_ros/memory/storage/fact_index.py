"""Keep the terms of facts, and find facts of the same text or of similar meaning.

`learning.alike` finds those with common terms: it reads the terms into RAM.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..models import Kind
from ..text.statement import statement
from . import codec
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction
from .vector_rows import text_digest

CANDIDATES = 64
"""Maximum number of facts to compare a fact with, by words and by meaning each."""
ENTRIES = "SELECT memory_id, words, claims FROM fact_terms WHERE memory_id {ids}"
"""The terms of memories, see `indexing.Index`."""
_PART = 2 * CANDIDATES
"""Ids that are looked up at once, since most facts are active."""
_TERM = np.dtype("<u4")
_ALL = "SELECT memory_id, words, claims FROM fact_terms"
_CHANGED = """
    SELECT t.memory_id, t.words, t.claims FROM collections AS c
    CROSS JOIN memories AS m INDEXED BY idx_mem_collection
    ON m.collection = c.name AND m.revision > ? AND m.revision <= ?
    CROSS JOIN fact_terms AS t ON t.memory_id = m.id
"""


class Candidate(NamedTuple):
    """A fact to compare another one with."""

    id: int
    content: str
    context: str
    content_hash: str
    frame_id: str
    map_id: str
    observed_at: int


_CANDIDATE = ", ".join(f"m.{name}" for name in Candidate._fields)
_FIRST_ACTIVE = f"""
    SELECT {_CANDIDATE} FROM json_each(?) AS j
    CROSS JOIN memories AS m ON m.id = j.value AND m.type = 'fact' AND m.status = 'active' AND m.collection = ?
    AND m.id <> ? LIMIT ?
"""
_NEAR = f"""
    SELECT {_CANDIDATE}, v.embedding FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    CROSS JOIN memories_vec AS mv ON mv.memory_id = m.id
    CROSS JOIN vectors AS v ON v.id = mv.vector_id AND length(v.embedding) = ?
    WHERE m.collection = ? AND m.type = 'fact' AND m.status = 'active'
"""


Terms = npt.NDArray[np.uint32]


class FactTerms(NamedTuple):
    """The terms of a fact, as sorted numbers of 32 bits; other collections have other numbers.

    Two terms that share a number by chance do no harm: facts that are found by them are compared by their terms.
    """

    words: Terms
    """Words of the subject."""
    claims: Terms
    """Parts of the claim."""

    @classmethod
    def from_bytes(cls, words: bytes, claims: bytes) -> FactTerms:
        """Return what `ENTRIES` has of a fact."""
        return cls(np.frombuffer(words, _TERM), np.frombuffer(claims, _TERM))


@lru_cache(maxsize=256)
def fact_terms(collection: str, content: str) -> FactTerms:
    """Return the terms of a fact."""
    stated = statement(content)
    return FactTerms(_numbers(collection, stated.words), _numbers(collection, stated.terms - stated.words))


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the terms of the facts among old rows by those among new rows."""
    facts = [(row.id, fact_terms(row.collection, row.content)) for row in new if row.type == Kind.FACT.value]
    transaction.delete("fact_terms", "memory_id", [row.id for row in old])
    rows = [(memory_id, terms.words.tobytes(), terms.claims.tobytes()) for memory_id, terms in facts]
    transaction.insert("fact_terms (memory_id, words, claims)", "(?, ?, ?)", rows)


def clear(transaction: Transaction) -> None:
    """Delete the terms of all facts."""
    transaction.execute("DELETE FROM fact_terms")


def changed(snapshot: Snapshot, after: int, until: int = 2**63 - 1) -> Sequence[tuple[int, bytes, bytes]]:
    """Return the ids and terms of the facts of which the last change has a revision in (after, until]; all after 0."""
    rows: Sequence[Any] = snapshot.rows(_CHANGED, (after, until)) if after else snapshot.rows(_ALL)
    return rows


def with_digest(snapshot: Snapshot, collection: str, digest: str) -> list[Candidate]:
    """Return the active facts of a collection with this digest of their text, newest first, 64 at most."""
    rows = snapshot.rows(
        f"SELECT {_CANDIDATE} FROM memories AS m WHERE m.content_hash = ? AND m.collection = ? AND m.type = 'fact' "
        "AND m.status = 'active' ORDER BY m.id DESC LIMIT ?",
        (digest, collection, CANDIDATES),
    )
    return [Candidate(*row) for row in rows]


def first_active(snapshot: Snapshot, collection: str, ids: Sequence[int], *, but: int = 0) -> list[Candidate]:
    """Return the first active facts of a collection among these, 64 at most, without the one with the id `but`."""
    rows: list[Any] = []
    for start in range(0, len(ids), _PART):
        part = json.dumps(ids[start : start + _PART])
        rows += snapshot.rows(_FIRST_ACTIVE, (part, collection, but, CANDIDATES - len(rows)))
        if len(rows) == CANDIDATES:
            break
    return [Candidate(*row) for row in rows]


def near(
    snapshot: Snapshot, collection: str, ids: Iterable[int], *, vector: bytes, cosine: float
) -> list[tuple[Candidate, float]]:
    """Return the similar facts among some memories, nearest first."""
    query = np.frombuffer(vector, np.float32)
    rows = snapshot.rows(_NEAR, (json.dumps(list(ids)), codec.size(len(query)), collection))
    similarities = 1.0 - codec.distances([code for *_, code in rows], query)
    close = [
        (Candidate(*row), similarity)
        for (*row, _), similarity in zip(rows, similarities.tolist(), strict=True)
        if similarity >= cosine
    ]
    return sorted(close, key=lambda pair: (-pair[1], -pair[0].id))[:CANDIDATES]


def _numbers(collection: str, terms: Iterable[str]) -> Terms:
    return np.array(sorted({_number(collection, term) for term in terms}), _TERM)


@lru_cache(maxsize=16_384)
def _number(collection: str, term: str) -> int:
    return text_digest(f"{collection}\0{term}") & 0xFFFF_FFFF
