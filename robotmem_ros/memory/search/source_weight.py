"""Stage 5, source weight: what happened in the real world counts more than what happened in simulation."""

from __future__ import annotations

import json
import sqlite3

from .fusion import Scores

_REAL = """
    SELECT memory_id FROM json_values
    WHERE path_id = (SELECT id FROM json_paths WHERE path = 'env.sim_or_real') AND value = 'real'
    AND memory_id IN (SELECT value FROM json_each(?))
"""


def weigh_sources(connection: sqlite3.Connection, scores: Scores, weight: float) -> Scores:
    """The scores, times `weight` for memories whose context has `env.sim_or_real` equal to `real`."""
    real = {memory_id for (memory_id,) in connection.execute(_REAL, (json.dumps(list(scores)),))}
    return {memory_id: score * weight if memory_id in real else score for memory_id, score in scores.items()}
