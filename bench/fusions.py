"""Ways to make one order out of what two searches gave, to be compared; what recall itself does is among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from robotmem_ros.memory.recall.fusion import Scores, reciprocal_rank_fusion
from robotmem_ros.memory.recall.fusion import blend as recall_blend
from robotmem_ros.memory.recall.ranking import Ranking

_K = 60


class Legs(NamedTuple):
    """All that both searches found: BM25 and cosine distances, the less the better."""

    text: Ranking
    vector: Ranking
    full_marks: float
    """The BM25 of a memory of mean length that holds each word of the question once."""


Way = Callable[[Legs], Scores]
Normaliser = Callable[[Ranking], Scores]


def weighted_rrf(share: float, k: int = _K) -> Way:
    """RRF with a share for text, the rest for meaning."""

    def way(legs: Legs) -> Scores:
        scores: Scores = {}
        for weight, ranking in ((share, legs.text), (1 - share, legs.vector)):
            for rank, hit in enumerate(ranking):
                scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + weight / (k + rank + 1)
        return scores

    return way


def blend(text: Normaliser, vector: Normaliser, share: float) -> Way:
    """The normalised scores of both, weighted and added; what a search did not find gets nothing for it."""

    def way(legs: Legs) -> Scores:
        parts = text(legs.text), vector(legs.vector)
        together = parts[0].keys() | parts[1].keys()
        return {one: share * parts[0].get(one, 0.0) + (1 - share) * parts[1].get(one, 0.0) for one in together}

    return way


def over_best(ranking: Ranking) -> Scores:
    """BM25 over the best."""
    return {hit.memory_id: hit.measure / ranking[0].measure for hit in ranking}


def similarity(ranking: Ranking) -> Scores:
    """The cosine itself."""
    return {hit.memory_id: max(0.0, 1 - hit.measure) for hit in ranking}


def similarity_over_best(ranking: Ranking) -> Scores:
    """The cosine over the best."""
    best = max((1 - hit.measure for hit in ranking), default=0.0)
    return {hit.memory_id: max(0.0, 1 - hit.measure) / best if best > 0 else 0.0 for hit in ranking}


def min_max(ranking: Ranking) -> Scores:
    """1 for the best, 0 for the last of the ranking."""
    if not ranking:
        return {}
    best, last = ranking[0].measure, ranking[-1].measure
    return {hit.memory_id: (last - hit.measure) / (last - best) if last > best else 1.0 for hit in ranking}


def z_score(ranking: Ranking) -> Scores:
    """Standard deviations above the mean of the ranking, 0 to 3, over 3."""
    mean = sum(hit.measure for hit in ranking) / max(len(ranking), 1)
    deviation = math.sqrt(sum((hit.measure - mean) ** 2 for hit in ranking) / max(len(ranking), 1)) or 1.0
    return {hit.memory_id: min(max((mean - hit.measure) / deviation, 0.0), 3.0) / 3 for hit in ranking}


def with_neighbours(way: Way, sessions: Sequence[str], share: float) -> Way:
    """Adds a share of the better of the two neighbours in the same session; `sessions` is by memory id."""

    def widened(legs: Legs) -> Scores:
        scores = way(legs)

        def near(memory_id: int) -> float:
            beside = (one for one in (memory_id - 1, memory_id + 1) if 0 < one < len(sessions))
            return max((scores.get(one, 0.0) for one in beside if sessions[one] == sessions[memory_id]), default=0.0)

        return {memory_id: score + share * near(memory_id) for memory_id, score in scores.items()}

    return widened


WAYS: Mapping[str, Way] = {
    "text only": lambda legs: over_best(legs.text),
    "vector only": lambda legs: similarity(legs.vector),
    "scores": lambda legs: recall_blend(legs.text, legs.vector, legs.full_marks),
    "rrf": lambda legs: reciprocal_rank_fusion([legs.text, legs.vector], _K),
    **{f"weighted rrf, text {share}": weighted_rrf(share) for share in (0.3, 0.4, 0.6, 0.7)},
    **{f"rrf, k = {k}": weighted_rrf(0.5, k) for k in (10, 2)},
    **{f"best 1, min-max; text {share}": blend(over_best, min_max, share) for share in (0.3, 0.4, 0.5, 0.6)},
    **{f"min-max both; text {share}": blend(min_max, min_max, share) for share in (0.4, 0.5)},
    **{f"best 1, cosine; text {share}": blend(over_best, similarity, share) for share in (0.3, 0.4, 0.5)},
    **{f"best 1 both; text {share}": blend(over_best, similarity_over_best, share) for share in (0.3, 0.4, 0.5)},
    **{f"z-scores; text {share}": blend(z_score, z_score, share) for share in (0.4, 0.5)},
}
