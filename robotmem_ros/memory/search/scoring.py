"""Score what the searches found: fusion, session neighbours, then weights of source, contradiction and outcome.

The weight of an outcome is

    weight = 1 + bound * (2 * u - 1),  u = (sum of share * outcome + 1) / (sum of shares + 2)

The sums are over the sessions in which a memory was recalled, a share is 1 / rank at which it was returned there. u is
Laplace's estimate of how well a session goes in which the memory is recalled: one half while nothing is known, and
neither 0 nor 1 however often. So the weight lies between 1 - bound and 1 + bound, and is 1 for what was never recalled
in a rated session.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Sequence

from .result import Ranking

Scores = dict[int, float]
"""Score by memory id, higher is better."""


def reciprocal_rank_fusion(rankings: Sequence[Ranking], k: int) -> Scores:
    """The sum of 1 / (k + rank + 1) over the rankings, ranks counted from 0.

    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, 2009.
    """
    scores: Scores = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking):
            scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + 1.0 / (k + rank + 1)
    return scores


def blend(text: Ranking, vector: Ranking, max_score: float) -> Scores:
    """Half for the words and half for the meaning; each memory should be measured by both searches.

    The words: BM25 over `max_score`, what a memory of mean length gets that holds each word of the query once. The
    meaning: cosine similarity over that of the nearest memory, where it is above zero; what opposes the query gets
    nothing for it. Where there is no vector yet, the words count for both.
    """
    measured = {hit.memory_id for hit in vector}
    scores: Scores = {}
    for hit in text if max_score > 0 else ():
        scores[hit.memory_id] = -hit.measure / max_score / (2 if hit.memory_id in measured else 1)
    nearest = max((1.0 - hit.measure for hit in vector), default=0.0)
    for hit in vector:
        similarity = max(1.0 - hit.measure, 0.0) / nearest if nearest > 0 else 0.0
        scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + similarity / 2
    return scores


def blend_depth(n: int) -> int:
    """How many hits of each search are blended: far more than are asked for."""
    return max(50, 5 * n)


def rrf_depth(n: int, k: int, ratio: float) -> int:
    """How many hits each search must give so that no memory outside of both lists can reach the best `n`.

    With r the ratio of the greatest and the least weight, such a memory scores at most 2r / (k + 1 + depth), the n-th
    best at least 1 / (k + n); so depth = 2r (k + n) - k, which is 3n + 2k for the ratio 1.5.
    """
    return math.ceil(2 * ratio * (k + n)) - k


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


_REAL = """
    SELECT memory_id FROM json_values
    WHERE path_id = (SELECT id FROM json_paths WHERE path = 'env.sim_or_real') AND value = 'real'
    AND memory_id IN (SELECT value FROM json_each(?))
"""


def weigh_sources(connection: sqlite3.Connection, scores: Scores, weight: float) -> Scores:
    """The scores, times `weight` for memories whose context has `env.sim_or_real` equal to `real`."""
    real = {memory_id for (memory_id,) in connection.execute(_REAL, (json.dumps(list(scores)),))}
    return {memory_id: score * weight if memory_id in real else score for memory_id, score in scores.items()}


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


def normalise(scores: Scores) -> Scores:
    """The scores divided by the highest one."""
    best = max(scores.values(), default=0.0)
    return {memory_id: score / best if best > 0 else 1.0 for memory_id, score in scores.items()}
