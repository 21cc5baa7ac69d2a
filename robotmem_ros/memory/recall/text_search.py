"""Stage 3a, text search: BM25 of SQLite FTS5 over content, summary and scope, among the eligible memories."""

from __future__ import annotations

import sqlite3

from ..language import tokens
from .eligible import Eligible, still_eligible
from .ranking import Hit, Ranking

_RANKED = """
    SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH ? {} ORDER BY score, rowid DESC
"""


def text_search(connection: sqlite3.Connection, query: str, eligible: Eligible, depth: int) -> Ranking:
    """The best `depth` eligible memories that hold a word of the query, by FTS5's BM25 (more negative is better).

    The words are OR-joined; compounds such as `grip_force` or `12.5` count once more when they stand together.
    """
    words = tokens.query_words(query)
    expression = tokens.any_of([*words, *tokens.query_phrases(query)])
    if not expression or depth < 1:
        return []
    if eligible.ids is not None:
        among_ids = _RANKED.format("AND +rowid IN (SELECT value FROM json_each(?))")
        found = connection.execute(f"{among_ids} LIMIT ?", (expression, eligible.ids_json(), depth))
        return [Hit(memory_id, score) for memory_id, score in found]
    ranking: Ranking = []
    cursor = connection.execute(_RANKED.format(""), (expression,))
    while len(ranking) < depth and (rows := cursor.fetchmany(2 * depth)):
        kept = still_eligible(connection, eligible, [memory_id for memory_id, _ in rows])
        ranking += [Hit(memory_id, score) for memory_id, score in rows if memory_id in kept]
    cursor.close()
    return ranking[:depth]
