"""Which memories really match a query: the set that a spatial sort orders by distance.

Memories that hold all of its words match, however many there are. If none does, words that no memory holds are left
out, then the most common ones, until some memories hold all that are left; the meaning must then decide, where there is
a model: only memories about as near in meaning as the nearest one match.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from ..language import tokens
from ..language.stop_words import SPATIAL_WORDS
from .condition import Condition
from .eligible import Eligible, enumerate_if_few, only
from .ranking import Ranking

MARGIN = 0.15
"""How much farther in cosine distance than the nearest memory one may be to match by meaning."""
_COUNTED = 10_000

Similar = Callable[[Eligible, float], "Ranking | None"]
"""The eligible memories within a margin of the nearest one in meaning; None without a model."""


def matching(connection: sqlite3.Connection, query: str, eligible: Eligible, similar: Similar) -> Eligible:
    """Those of the eligible memories that match the query."""
    words = tokens.query_words(query, extra_stop_words=SPATIAL_WORDS)
    holding = _holding_all(connection, words, eligible) if words else only(())
    if holding.ids != ():
        return holding
    relaxed = _relaxed(connection, words, eligible)
    near = similar(relaxed or enumerate_if_few(connection, eligible), MARGIN)
    if near is None:
        return relaxed or only(())
    return only([hit.memory_id for hit in near])


def _relaxed(connection: sqlite3.Connection, words: list[str], eligible: Eligible) -> Eligible | None:
    counts = {word: _count(connection, word, eligible) for word in words}
    known = sorted((word for word in words if counts[word]), key=lambda word: counts[word])
    while known:
        holding = _holding_all(connection, known, eligible)
        if holding.ids != ():
            return holding
        known.pop()
    return None


def _holding_all(connection: sqlite3.Connection, words: list[str], eligible: Eligible) -> Eligible:
    return enumerate_if_few(connection, eligible.and_(_holding(words)))


def _holding(words: list[str]) -> Condition:
    return Condition("m.id IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH ?)", (tokens.all_of(words),))


def _count(connection: sqlite3.Connection, word: str, eligible: Eligible) -> int:
    wanted, arguments = eligible.and_(_holding([word])).condition
    sql = f"SELECT count(*) FROM (SELECT 1 FROM memories AS m WHERE {wanted} LIMIT ?)"
    return int(connection.execute(sql, (*arguments, _COUNTED)).fetchone()[0])
