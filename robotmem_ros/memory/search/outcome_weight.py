"""Stage 5b, outcome weight: what was recalled in sessions that went well counts more, by a bounded amount.

    weight = 1 + bound * (2 * u - 1),  u = (sum of share * outcome + 1) / (sum of shares + 2)

The sums are over the sessions in which a memory was recalled, a share is 1 / rank at which it was returned there. u is
Laplace's estimate of how well a session goes in which the memory is recalled: one half while nothing is known, and
neither 0 nor 1 however often. So the weight lies between 1 - bound and 1 + bound, and is 1 for what was never recalled
in a rated session.
"""

from __future__ import annotations

import json
import sqlite3

from .fusion import Scores

_OUTCOMES = """
    SELECT memory_id, (total + 1.0) / (weight + 2.0) FROM memory_outcomes
    WHERE memory_id IN (SELECT value FROM json_each(?))
"""


def has_outcomes(connection: sqlite3.Connection) -> bool:
    """Whether any memory has a weight other than 1."""
    return connection.execute("SELECT 1 FROM memory_outcomes LIMIT 1").fetchone() is not None


def weigh_outcomes(connection: sqlite3.Connection, scores: Scores, bound: float) -> Scores:
    """The scores, each times the weight of its memory."""
    likely = dict(connection.execute(_OUTCOMES, (json.dumps(list(scores)),)))
    return {
        memory_id: score * (1.0 + bound * (2.0 * likely[memory_id] - 1.0)) if memory_id in likely else score
        for memory_id, score in scores.items()
    }
