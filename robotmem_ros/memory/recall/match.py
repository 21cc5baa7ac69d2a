"""Which memories really match a query: the set that a spatial sort orders by distance.

Memories that hold all of its words match, however many there are and whatever their vectors say; words that no memory
holds are left out, as long as two words remain. If no memory holds all that are left, the most common ones go too,
until some memory does. Where so little of a question is left, the meaning must decide as well, if there is a model:
only memories about as near in meaning as the nearest one match.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from ..language import tokens
from ..language.stop_words import SPATIAL_WORDS
from .condition import Condition, Source, in_source
from .eligible import Eligible, enumerate_if_few, only
from .ranking import Ranking

MARGIN = 0.2
"""How much farther in cosine distance than the nearest memory one may be to match by meaning."""
_COUNTED = 10_000

Similar = Callable[[Eligible, float], "Ranking | None"]
"""The eligible memories within a margin of the nearest one in meaning; None without a model."""


def matching(connection: sqlite3.Connection, query: str, eligible: Eligible, similar: Similar) -> Eligible:
    """Those of the eligible memories that match the query."""
    words = tokens.query_words(query, extra_stop_words=SPATIAL_WORDS)
    holding = _holding_all(connection, words, eligible)
    if holding is not None:
        return holding
    counts = {word: _count(connection, word, eligible) for word in words}
    words = sorted((word for word in words if counts[word]), key=lambda word: counts[word])
    holding = _holding_all(connection, words, eligible)
    if holding is not None and len(words) > 1:
        return holding
    while words and holding is None:
        words.pop()
        holding = _holding_all(connection, words, eligible)
    near = similar(holding or enumerate_if_few(connection, eligible), MARGIN)
    # Without a model, and as long as none of them has a vector, the words alone decide.
    return only([hit.memory_id for hit in near]) if near else holding or only(())


def _holding_all(connection: sqlite3.Connection, words: list[str], eligible: Eligible) -> Eligible | None:
    if not words:
        return None
    holding = enumerate_if_few(connection, eligible.and_(_holding(words)))
    return None if holding.ids == () else holding


def _holding(words: list[str]) -> Condition:
    sql = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ?"
    return in_source(Source(sql, (tokens.all_of(words),)))


def _count(connection: sqlite3.Connection, word: str, eligible: Eligible) -> int:
    check = eligible.and_(_holding([word])).check()
    sql = f"SELECT count(*) FROM (SELECT 1 FROM memories AS m WHERE {check.sql} LIMIT ?)"
    return int(connection.execute(sql, (*check.arguments, _COUNTED)).fetchone()[0])
