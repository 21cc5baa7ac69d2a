"""Search facts that are the same as, similar to or contradict another one, and link them.

Prefix filter: a set that shares a part of t or more of all words with another one has at least one of any
|x| - ceil(t |x|) + 1 of its words, so only facts with one of its rarest words are looked at. Chaudhuri, Ganti, Kaushik:
A primitive operator for similarity joins in data cleaning, 2006.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..clocks import iso
from ..models import Contradiction, Similarity
from . import bulk, codec
from .indexing.fact_words import SUBJECT, FactTerms, fact_terms, word_bits

CANDIDATES = 64
"""Number of facts that one is compared with, by words and by meaning each."""
_COUNTED = 128
"""Limit of the counts of facts with a word."""
_LATEST = 128
"""Number of facts of a word that are looked at, the newest."""
_LOOKED_UP = 64
"""Number of words of a long text that are looked up, the rarest."""
_ROUNDING = 1e-9
_COUNTS = """
    SELECT j.value, (SELECT count(*) FROM (SELECT 1 FROM fact_words WHERE word = j.value LIMIT ?2))
    FROM json_each(?1) AS j
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
_LATEST_OF = (
    "SELECT * FROM (SELECT memory_id, signature FROM fact_words WHERE word = ? ORDER BY memory_id DESC LIMIT ?)"
)
_TOLD_BY_BITS = 16
"""Number of words of a fact that a signature tells apart well."""
_COMMON = """
    SELECT f.value, count(*) FROM json_each(?1) AS j CROSS JOIN json_each(?2) AS f
    CROSS JOIN fact_words AS w ON w.word = j.value AND w.memory_id = f.value GROUP BY f.value
"""
_FIRST_ACTIVE = f"""
    SELECT {_CANDIDATE} FROM json_each(?) AS j
    CROSS JOIN memories AS m ON m.id = j.value AND m.status = 'active' AND m.collection = ? AND m.id <> ? LIMIT ?
"""


def with_digest(connection: sqlite3.Connection, collection: str, digest: str) -> list[Candidate]:
    """Return the active facts of a collection with this digest of their text, newest first, 64 at most."""
    found = connection.execute(
        f"SELECT {_CANDIDATE} FROM memories AS m WHERE m.content_hash = ? AND m.collection = ? AND m.type = 'fact' "
        "AND m.status = 'active' ORDER BY m.id DESC LIMIT ?",
        (digest, collection, CANDIDATES),
    )
    return [Candidate(*row) for row in found]


def sharing_words(
    connection: sqlite3.Connection, collection: str, content: str, *, similarity: float, but: int = 0
) -> list[Candidate]:
    """Return the facts of a collection that may be as similar as this, by all terms or by the words of the subject.

    At most 64, those that lack the fewest terms; of equal ones the newest. `but` is the id of a fact to leave out.
    """
    terms = fact_terms(collection, content)
    signatures = _similar_signatures(terms, _sharing_rare_words(connection, terms, similarity), similarity)
    lacking = _lacking(connection, terms, signatures)
    best = sorted(lacking, key=lambda memory_id: (lacking[memory_id], -memory_id))
    found = connection.execute(_FIRST_ACTIVE, (json.dumps(best), collection, but, CANDIDATES)) if best else ()
    return [Candidate(*row) for row in found]


def _lacking(connection: sqlite3.Connection, terms: FactTerms, signatures: Mapping[int, int]) -> dict[int, int]:
    # How many terms each fact lacks. If some must be left out, the claims are counted in the index, and so are words
    # that are too many for the bits of a signature.
    by_bits, counted = terms.signature, frozenset[int]()
    if len(signatures) > CANDIDATES:
        by_bits, counted = terms.signature & SUBJECT, terms.claims
        if len(terms.words) > _TOLD_BY_BITS:
            by_bits, counted = 0, terms.claims | terms.words
    common = connection.execute(_COMMON, (json.dumps([*counted]), json.dumps([*signatures]))) if counted else ()
    has = dict(common)
    return {
        memory_id: (by_bits & ~signature).bit_count() - has.get(memory_id, 0)
        for memory_id, signature in signatures.items()
    }


def _sharing_rare_words(connection: sqlite3.Connection, terms: FactTerms, similarity: float) -> set[tuple[int, int]]:
    # Ids with signatures. Of n groups of words, a fact that lacks less than n words has one as a whole.
    everything = terms.words | terms.claims
    if not everything:
        return set()
    counts = dict(connection.execute(_COUNTS, (json.dumps([*everything]), _COUNTED)).fetchall())
    by_rarity = [sorted(words, key=lambda word: (counts[word], word)) for words in (everything, terms.words)]
    enough = [len(words) - _needed(words, similarity) + 1 for words in by_rarity]
    rarest = {word for words, number in zip(by_rarity, enough, strict=True) for word in words[:number]}
    looked_up = sorted(rarest, key=lambda word: (counts[word], word))[:_LOOKED_UP]
    groups = [word_bits(by_rarity[1][place :: max(enough)]) for place in range(max(enough))]
    found = connection.execute(
        f"WITH latest (memory_id, signature) AS ({' UNION ALL '.join([_LATEST_OF] * len(looked_up))}) "
        f"SELECT memory_id, signature FROM latest WHERE {' OR '.join(['NOT ~signature & ?'] * len(groups))}",
        (*chain.from_iterable((word, _LATEST) for word in looked_up), *groups),
    )
    return set(found.fetchall())


def _similar_signatures(terms: FactTerms, found: Iterable[tuple[int, int]], similarity: float) -> dict[int, int]:
    # By all terms, or by the words of the subject if one fact has all those of the other.
    mine = terms.signature
    size, words = len(terms.words) + len(terms.claims), len(terms.words)
    spare, spare_words = (number - similarity * number + _ROUNDING for number in (size, words))
    similar = {}
    for memory_id, signature in found:
        lacks, more = mine & ~signature, signature & ~mine
        if lacks.bit_count() + similarity * more.bit_count() > spare:
            lacks, more = lacks & SUBJECT, more & SUBJECT
            if (lacks and more) or lacks.bit_count() + similarity * more.bit_count() > spare_words:
                continue
        similar[memory_id] = signature
    return similar


def _needed(words: Collection[int], similarity: float) -> int:
    # Rounded, so that 7 of 10 are 0.7.
    return max(math.ceil(round(similarity * len(words), 9)), 1)


def near(
    connection: sqlite3.Connection, collection: str, ids: Iterable[int], *, after_id: int, vector: bytes, cosine: float
) -> list[tuple[Candidate, float]]:
    """Return those of some facts, and of the facts stored after an id, that are similar enough; nearest first."""
    query = np.frombuffer(vector, np.float32)
    found = connection.execute(
        f"SELECT {_CANDIDATE}, v.embedding FROM memories AS m JOIN memories_vec AS mv ON mv.memory_id = m.id "
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
    """Return the greatest id of a memory; 0 if there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()[0])


def reinforce(connection: sqlite3.Connection, memory_id: int, confidence: float, observed_at: int) -> None:
    """Note that a fact was learned again: set its new confidence, and keep the later time of observation."""
    connection.execute(
        "UPDATE memories SET confidence = ?, times_learned = times_learned + 1, updated_at = ?, "
        "observed_at = max(observed_at, ?) WHERE id = ?",
        (confidence, iso(time.time_ns()), observed_at, memory_id),
    )


def times_learned(connection: sqlite3.Connection, memory_id: int) -> int:
    """Return how often a fact was learned."""
    return int(connection.execute("SELECT times_learned FROM memories WHERE id = ?", (memory_id,)).fetchone()[0])


def link_contradictions(connection: sqlite3.Connection, memory_id: int, others: Collection[tuple[int, str]]) -> None:
    """Link a fact with the facts that it contradicts, each with the reason."""
    rows = _from_both_sides(memory_id, others)
    bulk.insert(connection, "contradictions (memory_id, other_id, reason)", "(?, ?, ?)", rows)


def link_similar(connection: sqlite3.Connection, memory_id: int, others: Collection[Similarity]) -> None:
    """Link a fact with similar facts."""
    rows = _from_both_sides(memory_id, others)
    bulk.insert(connection, "similar_facts (memory_id, other_id, method, similarity)", "(?, ?, ?, ?)", rows)


def similar_to(connection: sqlite3.Connection, memory_id: int) -> tuple[Similarity, ...]:
    """Return the active facts that are linked as similar to a fact, most similar first."""
    found = connection.execute(
        "SELECT o.id, s.method, s.similarity FROM similar_facts AS s JOIN memories AS o ON o.id = s.other_id "
        "WHERE s.memory_id = ? AND o.status = 'active' ORDER BY s.similarity DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Similarity(*row) for row in found)


def unlink_contradictions(connection: sqlite3.Connection, memory_id: int) -> None:
    """Remove the links of a fact to those that it contradicts."""
    _unlink(connection, "contradictions", memory_id)


def unlink_similar(connection: sqlite3.Connection, memory_id: int) -> None:
    """Remove the links of a fact to similar facts."""
    _unlink(connection, "similar_facts", memory_id)


def _from_both_sides(memory_id: int, others: Collection[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [(memory_id, *one) for one in others] + [(other, memory_id, *about) for other, *about in others]


def _unlink(connection: sqlite3.Connection, table: str, memory_id: int) -> None:
    connection.execute(
        f"DELETE FROM {table} WHERE other_id = ?1 AND memory_id IN (SELECT other_id FROM {table} WHERE memory_id = ?1)",
        (memory_id,),
    )
    connection.execute(f"DELETE FROM {table} WHERE memory_id = ?", (memory_id,))


def contradictions_of(connection: sqlite3.Connection, memory_id: int) -> tuple[Contradiction, ...]:
    """Return the active facts that contradict a fact, newest first."""
    found = connection.execute(
        "SELECT o.id, c.reason, o.content, (o.observed_at, o.id) > (m.observed_at, m.id) FROM contradictions AS c "
        "JOIN memories AS o ON o.id = c.other_id JOIN memories AS m ON m.id = c.memory_id "
        "WHERE c.memory_id = ? AND o.status = 'active' ORDER BY o.observed_at DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Contradiction(other, reason, content, bool(newer)) for other, reason, content, newer in found)
