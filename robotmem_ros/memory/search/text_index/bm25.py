"""BM25: how well the words of a memory answer the words of a query.

The formula is FTS5's. A compound of the query, such as `grip_force`, counts once more where its words stand
together, and as much as the rarest of them.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...storage import bulk
from ..result import Hit, Ranking
from . import Bm25

_K1, _B = 1.2, 0.75
_LEAST_WEIGHT = 1e-6
_TEXTS = """
    SELECT c.id, c.c0, c.c1, c.c2, c.c3
    FROM json_each(?) AS j CROSS JOIN memories_fts_content AS c ON c.id = j.value
"""


class Statistics(NamedTuple):
    """What BM25 must know of all memories, those of every collection and the withdrawn ones included."""

    memories: int
    mean_length: float
    """Words in a memory, on average."""
    frequencies: Mapping[str, int]
    """In how many memories a word of the query stands."""

    def weight(self, *words: str) -> float:
        """The weight of a word, or of a compound: ln((N - n + 0.5) / (n + 0.5)), at least a millionth."""
        n = min(self.frequencies.get(word, 0) for word in words)
        return max(math.log((self.memories - n + 0.5) / (n + 0.5)), _LEAST_WEIGHT)

    def decides(self, word: str) -> bool:
        """Whether less than half of all memories hold the word."""
        return self.weight(word) > _LEAST_WEIGHT


def statistics(connection: sqlite3.Connection, words: Sequence[str]) -> Statistics:
    """The statistics for some words."""
    memories, total = connection.execute("SELECT memories, words FROM text_totals").fetchone()
    found = connection.execute(
        "SELECT word, memories FROM words WHERE word IN (SELECT value FROM json_each(?))", (json.dumps(list(words)),)
    )
    return Statistics(memories, total / max(memories, 1), dict(found.fetchall()))


def formula(known: Statistics) -> Bm25:
    """The constants of BM25 for the memories of some statistics."""
    return Bm25(_K1, _K1 * (1 - _B), _K1 * _B / max(known.mean_length, 1e-9))


def ranked(
    connection: sqlite3.Connection,
    ids: Iterable[int],
    words: Sequence[str],
    phrases: Sequence[str],
    *,
    known: Statistics,
    depth: int,
) -> Ranking:
    """The best `depth` of some memories, of those that hold a word; the more negative the measure, the better."""
    terms = [(word, known.weight(word)) for word in words]
    compounds = [(_spaced(phrase), known.weight(*phrase.split())) for phrase in phrases]
    _, least, per_word = formula(known)
    order: list[tuple[float, int]] = []
    for memory_id, content, *others in _texts(connection, ids):
        held = content.split()
        for text in filter(None, others):
            held += text.split()
        norm = least + per_word * len(held)
        score = 0.0
        for word, weight in terms:
            if count := held.count(word):
                score += weight * (count * (_K1 + 1) / (count + norm))
        if score:
            for phrase, weight in compounds:
                count = sum(_spaced(text).count(phrase) for text in (content, *others))
                score += weight * (count * (_K1 + 1) / (count + norm))
            order.append((-score, -memory_id))
    order.sort()
    return [Hit(-negative, measure) for measure, negative in order[:depth]]


def held_words(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, frozenset[str]]:
    """All words of some memories, by memory."""
    return {memory_id: frozenset(" ".join(texts).split()) for memory_id, *texts in _texts(connection, ids)}


def _texts(connection: sqlite3.Connection, ids: Iterable[int]) -> Iterator[tuple[int, str, str, str, str]]:
    # Words that are indexed have spaces between them, and nothing else.
    read = bulk.read(connection, _TEXTS, (json.dumps(sorted(ids)),), "id", "c0", "c1", "c2", "c3")
    return zip(*read, strict=True)


def _spaced(text: str) -> str:
    # Two spaces between words and one at each end: so a compound that follows itself is counted twice.
    return f" {text.replace(' ', '  ')} "
