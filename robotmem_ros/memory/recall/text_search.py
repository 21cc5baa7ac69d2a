"""Stage 3a, text search: BM25 over content, summary, scope and label, among the eligible memories."""

from __future__ import annotations

import sqlite3

from ..language import tokens
from .bm25 import ranked, statistics
from .eligible import Eligible
from .ranking import Ranking
from .text_candidates import candidates


def text_search(connection: sqlite3.Connection, query: str, eligible: Eligible, depth: int, limit: int) -> Ranking:
    """The best `depth` eligible memories that hold a word of the query, by BM25 (more negative is better).

    The words are OR-joined; compounds such as `grip_force` or `12.5` count once more when they stand together. Where
    the words stand in more than `limit` memories, not all of those are ranked: see text_candidates.
    """
    words, phrases = tokens.query_words(query), tokens.query_phrases(query)
    if not words or depth < 1:
        return []
    known = statistics(connection, [*words, *(word for phrase in phrases for word in phrase.split())])
    ids = eligible.ids if eligible.ids is not None else candidates(connection, words, known, eligible, limit)
    return ranked(connection, ids, words, phrases, known=known, depth=depth)


def full_marks(connection: sqlite3.Connection, query: str) -> float:
    """The score, as a positive number, of a memory of mean length that holds each word of the query once."""
    words = tokens.query_words(query)
    known = statistics(connection, words)
    return sum(map(known.weight, words))
