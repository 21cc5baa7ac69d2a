"""Score what the searches found: its relevance, fusion, then a list of steps, each with least and greatest factor.

A new step is an entry in `scoring_steps` with its parameter; the depth of the searches follows from the list.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..config.parameters import Parameters
from ..embedding.profile import Curve
from ..storage.rows import Traits
from .result import ScorePart

Scores = dict[int, float]
"""Score by memory id, higher is better."""
Floats = npt.NDArray[np.float64]
_DIGITS = 6


def cosines(distances: npt.NDArray[np.floating]) -> Floats:
    """Convert cosine distances, rounded to six digits, so that equal ones tie whatever the order of summation."""
    similarities: Floats = 1.0 - distances.astype(np.float64).round(_DIGITS)
    return similarities


class Measures(NamedTuple):
    """What searches measured of memories, each of these once."""

    ids: npt.NDArray[np.int64]
    """Best first if one search found them, else ascending."""
    bm25: Floats
    """0 if a memory contains no word of the query."""
    cosine: Floats
    """Similarity to the query; NaN without a vector."""

    @classmethod
    def of(
        cls,
        ids: Sequence[int] | npt.NDArray[np.int64],
        bm25: Floats | None = None,
        cosine: Floats | None = None,
    ) -> Measures:
        """Return memories with what was measured of them."""
        return cls(
            np.asarray(ids, np.int64),
            np.zeros(len(ids)) if bm25 is None else bm25,
            np.full(len(ids), math.nan) if cosine is None else cosine,
        )

    def rows(self, positions: npt.NDArray[np.intp] | slice) -> Measures:
        """Return those that stand at some positions."""
        return Measures(self.ids[positions], self.bm25[positions], self.cosine[positions])

    def join(self, addition: Measures) -> Measures:
        """Return these memories and others, and of those in both what either of them knows."""
        ids = np.union1d(self.ids, addition.ids)
        measures = Measures.of(ids)
        for part in (self, addition):
            rows = np.searchsorted(ids, part.ids)
            measures.bm25[rows] = np.maximum(measures.bm25[rows], part.bm25)
            measures.cosine[rows] = np.fmax(measures.cosine[rows], part.cosine)
        return measures

    def by_id(self, values: Floats) -> Scores:
        """Return a value of each memory by its id."""
        return dict(zip(self.ids.tolist(), values.tolist(), strict=True))


Parts = defaultdict[int, list[ScorePart]]
"""Effects of the steps, by memory id."""
ADD, MULTIPLY = "add", "multiply"
_SHARE_ALONE, _NOTHING = 7.3, -1.7


class Step(NamedTuple):
    """One step of scoring, which multiplies a score by a factor."""

    name: str
    factor: Callable[[Traits], float]
    reason: Callable[[Traits], str]
    """The reason in words."""
    min_factor: float
    """The least factor."""
    max_factor: float
    """The greatest factor."""


def scoring_steps(parameters: Parameters) -> tuple[Step, ...]:
    """List the steps in their order: real runs, newer contradictions, outcomes of sessions, other robots."""
    real, contradiction_weight = parameters.real_weight, parameters.contradicted_weight
    others = parameters.others_weight
    steps = (
        Step(
            "real world",
            lambda memory: real if memory.is_real else 1.0,
            lambda _: "env.sim_or_real is real",
            *_bounds(real),
        ),
        Step(
            "contradicted",
            lambda memory: contradiction_weight if memory.contradicted_by else 1.0,
            lambda memory: f"memory {memory.contradicted_by} contradicts it and is newer",
            *_bounds(contradiction_weight),
        ),
        _outcomes(parameters.outcome_weight),
        Step(
            "another robot",
            lambda memory: others if memory.is_of_another else 1.0,
            lambda _: "another robot made it",
            *_bounds(others),
        ),
    )
    return tuple(step for step in steps if (step.min_factor, step.max_factor) != (1.0, 1.0))


def _bounds(weight: float) -> tuple[float, float]:
    return min(weight, 1.0), max(weight, 1.0)


def _outcomes(bound: float) -> Step:
    # weight = 1 + bound * (2 * u - 1),  u = (sum of share * outcome + 1) / (sum of shares + 2)
    # The sums are over the sessions in which the memory was recalled; a share is 1 / rank at which it was returned
    # there. u is Laplace's estimate of how well such a session goes: one half while nothing is known, never 0 or 1.
    def factor(memory: Traits) -> float:
        return 1.0 if memory.outcome is None else 1.0 + bound * (2.0 * memory.outcome - 1.0)

    def reason(memory: Traits) -> str:
        return f"sessions in which it was recalled have an outcome of {memory.outcome:.2f}, as far as is known"

    return Step("outcomes", factor, reason, 1.0 - bound, 1.0 + bound)


def apply_steps(
    scores: Scores, traits: Mapping[int, Traits], steps: Sequence[Step], parts: Parts | None = None
) -> Scores:
    """Return the scores after all steps; `parts`, if given, gets what each step does, unless it changes nothing."""
    scores = dict(scores)
    for memory_id, memory in traits.items():
        for step in steps:
            before, factor = scores[memory_id], step.factor(memory)
            scores[memory_id] = after = before * factor
            if parts is not None and after != before:
                parts[memory_id].append(ScorePart(step.name, MULTIPLY, factor, step.reason(memory), after))
    return scores


class Gain(NamedTuple):
    """What memories gain from others."""

    name: str
    values: Scores
    reason: Callable[[int], str]
    """The reason in words, by memory id."""


def add_gains(scores: Scores, gains: Sequence[Gain], parts: Parts | None = None) -> Scores:
    """Return the scores with what the memories gain; `parts` as in `apply_steps`."""
    scores = dict(scores)
    for gain in gains:
        for memory_id, value in gain.values.items():
            if value:
                scores[memory_id] += value
                if parts is not None:
                    reason = gain.reason(memory_id)
                    parts[memory_id].append(ScorePart(gain.name, ADD, value, reason, scores[memory_id]))
    return scores


class Weights(NamedTuple):
    """What the two searches count in the fusion."""

    text: float
    vector: float

    @classmethod
    def of(cls, parameters: Parameters) -> Weights:
        """Read the parameters."""
        return cls(parameters.text_weight, parameters.vector_weight)


def reciprocal_rank_fusion(text: Iterable[int], vector: Iterable[int], weights: Weights, k: int) -> Scores:
    """Sum weight / (k + rank + 1) over two rankings of memories by id, ranks counted from 0.

    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, 2009.
    """
    scores: Scores = {}
    for ranking, weight in zip((text, vector), weights, strict=True):
        for rank, memory_id in enumerate(ranking):
            scores[memory_id] = scores.get(memory_id, 0.0) + weight / (k + rank + 1)
    return scores


def rrf_depth(n: int, k: int, weights: Weights, steps: Sequence[Step]) -> int:
    """Return how many hits each search must give so that no memory outside of both lists can reach the best `n`.

    With r the ratio of the greatest and the least factor of all steps together, and w the sum of the weights over the
    greater one, such a memory scores at most w r / (k + 1 + depth), the n-th best at least 1 / (k + n), in units of the
    greater weight; so depth = w r (k + n) - k, which is 3n + 2k for equal weights and r = 1.5.
    """
    ratio = math.prod(step.max_factor / step.min_factor for step in steps)
    return math.ceil(sum(weights) / max(weights) * ratio * (k + n)) - k


def blend(measures: Measures, weights: Weights, max_score: float, nearest: float | None = None) -> Floats:
    """Average what the words and the meaning score, by their weights; both searches should measure each memory.

    The words: BM25 over `max_score`, that of a memory of mean length that contains each word of the query once. The
    meaning: cosine similarity over `nearest`, that of the nearest memory (by default, of these), if it is above zero;
    what opposes the query gets nothing for it. If a memory has no vector yet, the words count for both.
    """
    by_words = weights.text / sum(weights)
    has_vector = ~np.isnan(measures.cosine)
    words = measures.bm25 / max_score if max_score > 0 else np.zeros(len(measures.ids))
    return words * np.where(has_vector, by_words, 1.0) + meaning(measures.cosine, weights, nearest)


def meaning(cosine: Floats, weights: Weights, nearest: float | None = None) -> Floats:
    """Return the part of the meaning in a blend."""
    similarity = np.maximum(np.nan_to_num(cosine, nan=0.0), 0.0)
    greatest = similarity.max(initial=0.0) if nearest is None else nearest
    return similarity / (greatest or 1.0) * (1.0 - weights.text / sum(weights))


def blend_depth(n: int) -> int:
    """Return how many hits of each search to blend: far more than are wanted."""
    return max(50, 5 * n)


def normalise(scores: Scores) -> Scores:
    """Divide the scores by the highest one, so that results of different queries can be compared."""
    best = max(scores.values(), default=0.0)
    return {memory_id: score / best if best > 0 else 1.0 for memory_id, score in scores.items()}


def relevance(similarity: npt.ArrayLike, share: npt.ArrayLike, curve: Curve, *, is_unknown: bool = False) -> Floats:
    """Return how probable it is that memories answer a query, by their own texts alone, in [0, 1].

        1 / (1 + exp(-x)),  x = c * similarity + s * share ** 3 + b,  or  x = 7.3 * share ** 3 - 1.7

    The factors c, s and b are those of the curve of the embedding model. The second x is for a memory without a cosine
    similarity (NaN). The share is that of the query's words which the memory contains, weighed by their rarity; the
    cube says that half of the words is little, and all of them nearly enough. With neither of the two the relevance is
    0. `is_unknown` says that no memory contains a word of the query: then a similarity counts less, since any two short
    texts are somewhat alike. Both curves are logistic
    regressions over queries that a memory answers and queries that none does, one half each; `python3 -m bench
    relevance` fits them again.
    """
    cosine, cube = np.asarray(similarity, np.float64), np.asarray(share, np.float64) ** 3
    x = np.where(
        np.isnan(cosine),
        np.where(cube > 0, _SHARE_ALONE * cube + _NOTHING, -np.inf),
        curve.cosine * (cosine - (curve.unknown_discount if is_unknown else 0.0)) + curve.share * cube + curve.bias,
    )
    probable: Floats = 1.0 / (1.0 + np.exp(-x))
    return probable
