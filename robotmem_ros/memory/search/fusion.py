"""Stage 4, fusion: what both searches found becomes one score, by ranks (RRF) or by what they measured (blend)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .ranking import Ranking

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


def blend(text: Ranking, vector: Ranking, full_marks: float) -> Scores:
    """Half for the words and half for the meaning; each memory should be measured by both searches.

    The words: BM25 over `full_marks`, what a memory of mean length gets that holds each word of the question once. The
    meaning: cosine similarity over that of the nearest memory, where it is above zero; what opposes the question gets
    nothing for it. Where there is no vector yet, the words count for both.
    """
    measured = {hit.memory_id for hit in vector}
    scores: Scores = {}
    for hit in text if full_marks > 0 else ():
        scores[hit.memory_id] = -hit.measure / full_marks / (2 if hit.memory_id in measured else 1)
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
