"""Index the terms of facts, and find facts of the same text, with common terms, or of similar meaning.

Prefix filter: a set that shares a part of t or more of all words with another one has at least one of any
|x| - ceil(t |x|) + 1 of its words, so only facts with one of its rarest words are looked at. Chaudhuri, Ganti, Kaushik:
A primitive operator for similarity joins in data cleaning, 2006.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..models import Kind
from ..text.statement import statement
from . import codec
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction
from .vector_rows import text_digest

CANDIDATES = 64
"""Maximum number of facts to compare a fact with, by words and by meaning each."""
_WORD_BITS, _CLAIM_BITS = 48, 15
_SUBJECT = (1 << _WORD_BITS) - 1
"""The bits of a signature for words of the subject."""
_MAX_COUNT = 128
"""Limit of the counts of facts with a word."""
_LATEST = 128
"""Number of the newest facts with a word that are read."""
_LOOKED_UP = 64
"""Number of the rarest words of a long text that are looked up."""
_ROUNDING = 1e-9
_COUNTS = """
    SELECT j.value, (SELECT count(*) FROM (SELECT 1 FROM fact_words WHERE word = j.value LIMIT ?2))
    FROM json_each(?1) AS j
"""


ENTRIES = "SELECT memory_id, word, signature FROM fact_words WHERE memory_id {ids}"
"""The terms of memories, see `indexing.Index`."""


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
_LATEST_OF = (
    "SELECT * FROM (SELECT memory_id, signature FROM fact_words WHERE word = ? ORDER BY memory_id DESC LIMIT ?)"
)
_TOLD_BY_BITS = 16
"""Number of words of a fact that a signature tells apart well."""
_DELETE = "DELETE FROM fact_words WHERE word = ? AND memory_id = ?"
_WITH_TERM = """
    SELECT j.value FROM json_each(?1) AS j CROSS JOIN fact_words AS w ON w.word = ?2 AND w.memory_id = j.value
"""
_FIRST_ACTIVE = f"""
    SELECT {_CANDIDATE} FROM json_each(?) AS j
    CROSS JOIN memories AS m ON m.id = j.value AND m.status = 'active' AND m.collection = ? AND m.id <> ? LIMIT ?
"""
_NEAR = f"""
    SELECT {_CANDIDATE}, v.embedding FROM (
        SELECT value AS id FROM json_each(?)
        UNION SELECT id FROM (SELECT id FROM memories WHERE id > ? ORDER BY id DESC LIMIT 512)
    ) AS j
    CROSS JOIN memories AS m ON m.id = j.id
    CROSS JOIN memories_vec AS mv ON mv.memory_id = m.id
    CROSS JOIN vectors AS v ON v.id = mv.vector_id AND length(v.embedding) = ?
    WHERE m.collection = ? AND m.type = 'fact' AND m.status = 'active'
"""


class FactTerms(NamedTuple):
    """The terms of a fact, as numbers of 64 bits; other collections have other numbers.

    Two terms that share a number by chance do no harm: facts that are found by them are compared by their terms.
    """

    words: frozenset[int]
    """Words of the subject."""
    claims: frozenset[int]
    """Parts of the claim."""
    signature: int
    """A bit for each term: a fact that lacks the bit lacks the term. 63 bits, since integers of SQLite are signed."""


@lru_cache(maxsize=256)
def fact_terms(collection: str, content: str) -> FactTerms:
    """Return the terms of a fact."""
    stated = statement(content)
    words = frozenset(_term_id(collection, term) for term in stated.words)
    claims = frozenset(_term_id(collection, term) for term in stated.terms - stated.words)
    return FactTerms(words, claims, _bits(words, _WORD_BITS) | _bits(claims, _CLAIM_BITS) << _WORD_BITS)


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the terms of the facts among old rows in the index by those among new rows."""
    outdated, entries = _entries(old), _entries(new)
    transaction.executemany(_DELETE, [key for key, signature in outdated.items() if entries.get(key) != signature])
    rows = [(*key, signature) for key, signature in entries.items() if outdated.get(key) != signature]
    transaction.insert("fact_words (word, memory_id, signature)", "(?, ?, ?)", rows)


def clear(transaction: Transaction) -> None:
    """Empty the index of terms."""
    transaction.execute("DELETE FROM fact_words")


def _entries(rows: Rows) -> dict[tuple[int, int], int]:
    # Signatures by term and memory.
    facts = [(row.id, fact_terms(row.collection, row.content)) for row in rows if row.type == Kind.FACT.value]
    return {(term, memory_id): of.signature for memory_id, of in facts for term in of.words | of.claims}


def with_digest(snapshot: Snapshot, collection: str, digest: str) -> list[Candidate]:
    """Return the active facts of a collection with this digest of their text, newest first, 64 at most."""
    rows = snapshot.rows(
        f"SELECT {_CANDIDATE} FROM memories AS m WHERE m.content_hash = ? AND m.collection = ? AND m.type = 'fact' "
        "AND m.status = 'active' ORDER BY m.id DESC LIMIT ?",
        (digest, collection, CANDIDATES),
    )
    return [Candidate(*row) for row in rows]


def sharing_words(
    snapshot: Snapshot, collection: str, content: str, *, similarity: float, but: int = 0
) -> list[Candidate]:
    """Return the facts of a collection that may be as similar as this, by all terms or by the words of the subject.

    At most 64, those that lack the fewest terms; of equal ones the newest. `but` is the id of a fact to leave out.
    """
    terms = fact_terms(collection, content)
    signatures = _similar_signatures(terms, _sharing_rare_words(snapshot, terms, similarity), similarity)
    lacking = _lacking(snapshot, terms, signatures)
    best = sorted(lacking, key=lambda memory_id: (lacking[memory_id], -memory_id))
    rows = snapshot.rows(_FIRST_ACTIVE, (json.dumps(best), collection, but, CANDIDATES)) if best else ()
    return [Candidate(*row) for row in rows]


def _lacking(snapshot: Snapshot, terms: FactTerms, signatures: Mapping[int, int]) -> dict[int, int]:
    # The number of terms that each fact lacks. If there are too many facts, claims are looked up in the index, and so
    # are words if they are too many for the bits of a signature.
    by_bits, looked_up = terms.signature, frozenset[int]()
    if len(signatures) > CANDIDATES:
        by_bits, looked_up = terms.signature & _SUBJECT, terms.claims
        if len(terms.words) > _TOLD_BY_BITS:
            by_bits, looked_up = 0, terms.claims | terms.words
    lacking = {memory_id: (by_bits & ~signature).bit_count() for memory_id, signature in signatures.items()}
    for term in looked_up:
        bit = _bits([term], _WORD_BITS) if term in terms.words else _bits([term], _CLAIM_BITS) << _WORD_BITS
        may_have = [memory_id for memory_id, signature in signatures.items() if signature & bit]
        for (memory_id,) in snapshot.rows(_WITH_TERM, (json.dumps(may_have), term)):
            lacking[memory_id] -= 1
    return lacking


def _sharing_rare_words(snapshot: Snapshot, terms: FactTerms, similarity: float) -> dict[int, int]:
    # Signatures by id. Of n groups of words, a fact that lacks fewer than n words has a whole group.
    everything = terms.words | terms.claims
    if not everything:
        return {}
    counts = dict(snapshot.rows(_COUNTS, (json.dumps([*everything]), _MAX_COUNT)))
    by_rarity = [sorted(words, key=lambda word: (counts[word], word)) for words in (everything, terms.words)]
    prefix_sizes = [len(words) - _min_shared(words, similarity) + 1 for words in by_rarity]
    rarest = {word for words, number in zip(by_rarity, prefix_sizes, strict=True) for word in words[:number]}
    looked_up = sorted(rarest, key=lambda word: (counts[word], word))[:_LOOKED_UP]
    groups = [_bits(by_rarity[1][place :: max(prefix_sizes)], _WORD_BITS) for place in range(max(prefix_sizes))]
    rows = snapshot.rows(
        f"WITH latest (memory_id, signature) AS ({' UNION ALL '.join([_LATEST_OF] * len(looked_up))}) "
        f"SELECT memory_id, signature FROM latest WHERE {' OR '.join(['NOT ~signature & ?'] * len(groups))}",
        (*chain.from_iterable((word, _LATEST) for word in looked_up), *groups),
    )
    return dict(rows)


def _similar_signatures(terms: FactTerms, signatures: Mapping[int, int], similarity: float) -> dict[int, int]:
    # Compares all terms, or the words of the subject if one fact has all words of the other.
    query = terms.signature
    size, words = len(terms.words) + len(terms.claims), len(terms.words)
    spare, spare_words = (number - similarity * number + _ROUNDING for number in (size, words))
    similar = {}
    for memory_id, signature in signatures.items():
        differ = query ^ signature
        lacks = (differ & query).bit_count()
        if lacks + similarity * (differ.bit_count() - lacks) > spare:
            differ &= _SUBJECT
            lacks = (differ & query).bit_count()
            extra = differ.bit_count() - lacks
            if (lacks and extra) or lacks + similarity * extra > spare_words:
                continue
        similar[memory_id] = signature
    return similar


def _min_shared(words: Collection[int], similarity: float) -> int:
    # Rounded, so that 7 of 10 are 0.7.
    return max(math.ceil(round(similarity * len(words), 9)), 1)


def near(
    snapshot: Snapshot, collection: str, ids: Iterable[int], *, after_id: int, vector: bytes, cosine: float
) -> list[tuple[Candidate, float]]:
    """Return the similar facts among some facts and the facts stored after an id, nearest first."""
    query = np.frombuffer(vector, np.float32)
    rows = snapshot.rows(_NEAR, (json.dumps(list(ids)), after_id, codec.size(len(query)), collection))
    similarities = 1.0 - codec.distances([code for *_, code in rows], query)
    close = [
        (Candidate(*row), similarity)
        for (*row, _), similarity in zip(rows, similarities.tolist(), strict=True)
        if similarity >= cosine
    ]
    return sorted(close, key=lambda pair: (-pair[1], -pair[0].id))[:CANDIDATES]


def last_id(snapshot: Snapshot) -> int:
    """Return the greatest id of a memory; 0 if there is none."""
    return int(snapshot.row("SELECT coalesce(max(id), 0) FROM memories")[0])


def _bits(terms: Iterable[int], number: int) -> int:
    bits = 0
    for term in terms:
        bits |= 1 << term % number
    return bits


@lru_cache(maxsize=16_384)
def _term_id(collection: str, term: str) -> int:
    return text_digest(f"{collection}\0{term}")
