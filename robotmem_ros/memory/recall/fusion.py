"""Stage 4, fusion: the ranks of several searches become one score. A fusion is a function; RRF is one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .ranking import Ranking

Scores = dict[int, float]
"""Score by memory id, higher is better."""
Fusion = Callable[[Sequence[Ranking], int], Scores]
"""Takes the rankings of the searches and the constant k; gives a score to each memory that stands in any of them."""


def reciprocal_rank_fusion(rankings: Sequence[Ranking], k: int) -> Scores:
    """The sum of 1 / (k + rank + 1) over the rankings, ranks counted from 0.

    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, 2009.
    """
    scores: Scores = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking):
            scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + 1.0 / (k + rank + 1)
    return scores


FUSIONS: Mapping[str, Fusion] = {"rrf": reciprocal_rank_fusion}
"""The fusions by their names in the parameter `fusion`."""


def depth(n: int, k: int, ratio: float) -> int:
    """How many hits each search must give so that no memory outside of both lists can reach the best `n`.

    With r the ratio of the greatest and the least weight, such a memory scores at most 2r / (k + 1 + depth), the n-th
    best at least 1 / (k + n); so depth = 2r (k + n) - k, which is 3n + 2k for the ratio 1.5.
    """
    return math.ceil(2 * ratio * (k + n)) - k
