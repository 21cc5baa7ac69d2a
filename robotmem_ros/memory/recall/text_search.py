"""Stage 3a, text search: BM25 of SQLite FTS5 over content, summary and scope, among the eligible memories."""

from __future__ import annotations

import sqlite3

from ..language import tokens
from .eligible import Eligible
from .ranking import Hit, Ranking


def text_search(connection: sqlite3.Connection, query: str, eligible: Eligible, depth: int) -> Ranking:
    """The best `depth` eligible memories that hold a word of the query, by FTS5's BM25 (more negative is better).

    The words are OR-joined; compounds such as `grip_force` or `12.5` count once more when they stand together.
    """
    words = tokens.query_words(query)
    expression = tokens.any_of([*words, *tokens.query_phrases(query)])
    if not expression:
        return []
    condition, arguments = eligible.condition
    rows = connection.execute(
        "SELECT m.id, bm25(memories_fts) AS score "
        "FROM memories_fts CROSS JOIN memories AS m ON m.id = memories_fts.rowid "
        f"WHERE memories_fts MATCH ? AND {condition} ORDER BY score, m.id DESC LIMIT ?",
        (expression, *arguments, depth),
    )
    return [Hit(memory_id, score) for memory_id, score in rows]
