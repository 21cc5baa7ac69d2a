"""Keep the terms of a fact in its row, and read facts to compare another one with.

A program reads the text itself where another one, with other packages, has read it otherwise.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..text.statement import scheme, statement
from . import codec
from .snapshot import Snapshot, json_array
from .vector_rows import text_digest

CANDIDATES = 64
"""Maximum number of facts to compare a fact with, by words and by meaning each."""
_PART = CANDIDATES
"""Ids that are looked up at once, since hardly any is not there."""
HEAD = 2
"""Numbers before the terms in a row: the scheme by which the text was read, and how many of the terms are words."""
_TERM = np.dtype("<u4")
Ids = npt.NDArray[np.int64]
Terms = npt.NDArray[np.uint32]


class FactTerms(NamedTuple):
    """The terms of a fact, as numbers of 32 bits.

    Two terms that share a number by chance do no harm: facts that are found by them are compared by their terms.
    """

    words: Terms
    """Words of the subject."""
    claims: Terms
    """Parts of the claim."""


class TermRow(NamedTuple):
    """What a row says of a fact."""

    id: int
    is_active: bool
    collection: str
    terms: bytes
    """As `encoded` has them."""


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
_IS_FACT_OF = "m.collection = ? AND m.type = 'fact' AND m.status = 'active'"
_IS_READ = "typeof(m.terms) = 'blob' AND length(m.terms) % 4 = 0 AND length(m.terms) > 4 AND substr(m.terms, 1, 4) = ?"
_TERMS = f"m.id, m.status = 'active', m.collection, iif({_IS_READ}, m.terms, NULL), m.content"
_ALL = f"SELECT {_TERMS} FROM memories AS m INDEXED BY idx_mem_hash WHERE m.content_hash IS NOT NULL ORDER BY m.id"
_CHANGED = f"""
    SELECT {_TERMS} FROM collections AS c CROSS JOIN memories AS m INDEXED BY idx_mem_collection
    ON m.collection = c.name WHERE m.revision > ? AND m.revision <= ? AND m.type = 'fact' ORDER BY m.id
"""
_AMONG = f"SELECT {_CANDIDATE} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {_IS_FACT_OF}"
_NEAR = f"""
    SELECT {_CANDIDATE}, v.embedding FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    CROSS JOIN memories_vec AS mv ON mv.memory_id = m.id
    CROSS JOIN vectors AS v ON v.id = mv.vector_id AND length(v.embedding) = ?
    WHERE {_IS_FACT_OF}
"""


@lru_cache(maxsize=256)
def fact_terms(content: str) -> FactTerms:
    """Return the terms of a fact."""
    stated = statement(content)
    return FactTerms(_numbers(stated.words), _numbers(stated.terms - stated.words))


def encoded(content: str) -> bytes:
    """Return the terms of a fact as its row has them."""
    words, claims = fact_terms(content)
    return _scheme() + np.concatenate((np.array([len(words)], _TERM), words, claims)).tobytes()


def numbers_in(terms: Sequence[bytes]) -> Terms:
    """Return the numbers of the rows of some facts, one row behind the other."""
    return np.frombuffer(b"".join(terms), _TERM)


def all_facts(snapshot: Snapshot) -> list[TermRow]:
    """Return what the rows say of all facts, ascending by id."""
    return _rows(snapshot.rows(_ALL, (_scheme(),)))


def changed(snapshot: Snapshot, after: int, until: int = 2**63 - 1) -> list[TermRow]:
    """Return the same of the facts of which the last change has a revision in (after, until]."""
    return _rows(snapshot.rows(_CHANGED, (_scheme(), after, until)))


def with_digest(snapshot: Snapshot, collection: str, digest: str) -> list[Candidate]:
    """Return the active facts of a collection with this digest of their text, newest first, 64 at most."""
    rows = snapshot.rows(
        f"SELECT {_CANDIDATE} FROM memories AS m WHERE m.content_hash = ? AND {_IS_FACT_OF} ORDER BY m.id DESC LIMIT ?",
        (digest, collection, CANDIDATES),
    )
    return [Candidate(*row) for row in rows]


def first_active(snapshot: Snapshot, collection: str, ids: Sequence[int]) -> list[Candidate]:
    """Return the first active facts of a collection among some memories, 64 at most."""
    rows: list[Any] = []
    for start in range(0, len(ids), _PART):
        rows += snapshot.rows(_AMONG, (json_array(ids[start : start + _PART]), collection))
        if len(rows) >= CANDIDATES:
            break
    return [Candidate(*row) for row in rows[:CANDIDATES]]


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


def _rows(rows: Iterable[Sequence[Any]]) -> list[TermRow]:
    return [
        TermRow(key, bool(active), collection, encoded(str(content)) if terms is None else terms)
        for key, active, collection, terms, content in rows
    ]


@cache
def _scheme() -> bytes:
    return np.array([zlib.crc32(scheme().encode())], _TERM).tobytes()


def _numbers(terms: Iterable[str]) -> Terms:
    return np.array(sorted({*map(_number, terms)}), _TERM)


@lru_cache(maxsize=16_384)
def _number(term: str) -> int:
    return text_digest(term) & 0xFFFF_FFFF
