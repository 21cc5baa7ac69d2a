"""Stage 4b, neighbours: what was stored just before or after something that answers belongs to it, in one session."""

from __future__ import annotations

import json
import sqlite3

from .fusion import Scores

_NEIGHBOURS = """
    SELECT m.id,
    (SELECT p.id FROM memories AS p INDEXED BY idx_mem_session
     WHERE p.session_id = m.session_id AND p.session_id <> '' AND p.id < m.id ORDER BY p.id DESC LIMIT 1),
    (SELECT p.id FROM memories AS p INDEXED BY idx_mem_session
     WHERE p.session_id = m.session_id AND p.session_id <> '' AND p.id > m.id ORDER BY p.id LIMIT 1)
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE m.session_id <> ''
"""


def add_neighbours(connection: sqlite3.Connection, scores: Scores, share: float) -> Scores:
    """The scores, each with a share of the better one of the memories stored next before and next after in its session.

    A neighbour that has no score itself gives nothing.
    """
    if not share:
        return scores
    rows = connection.execute(_NEIGHBOURS, (json.dumps(list(scores)),))
    added = {one: share * max(scores.get(before, 0.0), scores.get(after, 0.0)) for one, before, after in rows}
    return {one: score + added.get(one, 0.0) for one, score in scores.items()}
