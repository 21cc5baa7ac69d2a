"""Stage 5, too: a fact that a newer active one contradicts counts less, so that the newer one is preferred."""

from __future__ import annotations

import json
import sqlite3

from .fusion import Scores

_CONTRADICTED = """
    SELECT DISTINCT c.memory_id FROM json_each(?) AS j CROSS JOIN contradictions AS c ON c.memory_id = j.value
    JOIN memories AS m ON m.id = c.memory_id JOIN memories AS other ON other.id = c.other_id
    WHERE other.status = 'active' AND (other.observed_at, other.id) > (m.observed_at, m.id)
"""


def weigh_contradictions(connection: sqlite3.Connection, scores: Scores, weight: float) -> Scores:
    """The scores, times `weight` for memories that a newer one contradicts.

    Newer is what was observed later, of what was observed at once what was stored later.
    """
    contradicted = {memory_id for (memory_id,) in connection.execute(_CONTRADICTED, (json.dumps(list(scores)),))}
    return {memory_id: score * weight if memory_id in contradicted else score for memory_id, score in scores.items()}
