"""Score what the searches found: its relevance, fusion, then a list of steps, each with least and greatest factor.

A new step is an entry in `scoring_steps` with its parameter; the depth of the searches follows from the list.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..config.parameters import Parameters
from ..embedding.profile import Curve
from ..storage.rows import Traits
from .result import ScorePart

Floats = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.intp]
_DIGITS = 6


def as_cosines(distances: npt.NDArray[np.floating]) -> Floats:
    """Convert cosine distances, rounded to six digits, so that equal ones tie whatever the order of summation."""
    similarities: Floats = 1.0 - distances.astype(np.float64).round(_DIGITS)
    return similarities


Parts = defaultdict[int, list[ScorePart]]
"""Effects of the steps, by the places of memories in their scores."""
ADD, MULTIPLY = "add", "multiply"
_SHARE_ALONE, _NOTHING = 7.3, -1.7
_FITTED_ON, _FEW = 1000, 60
"""Number of memories among which the curves of relevance hold, and the least number by which chance is told."""


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
    scores: Floats, traits: Mapping[int, Traits], steps: Sequence[Step], parts: Parts | None = None
) -> None:
    """Change scores by all steps, by the traits of memories at some places.

    `parts`, if given, gets what each step does, unless it changes nothing.
    """
    for at, memory in traits.items():
        for step in steps:
            before, factor = float(scores[at]), step.factor(memory)
            scores[at] = after = before * factor
            if parts is not None and after != before:
                parts[at].append(ScorePart(step.name, MULTIPLY, factor, step.reason(memory), after))


class Weights(NamedTuple):
    """What the two searches count in the fusion."""

    text: float
    vector: float

    @classmethod
    def of(cls, parameters: Parameters) -> Weights:
        """Read the parameters."""
        return cls(parameters.text_weight, parameters.vector_weight)


def reciprocal_rank_fusion(text: Ranks, vector: Ranks, weights: Weights, k: int) -> Floats:
    """Sum weight / (k + rank) over the ranks that two searches give each memory, from 1; 0 for none.

    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, 2009.
    """
    by_words, by_meaning = (
        np.where(ranks > 0, weight / (k + ranks), 0.0) for ranks, weight in zip((text, vector), weights, strict=True)
    )
    return by_words + by_meaning


def rrf_depth(n: int, k: int, weights: Weights, steps: Sequence[Step]) -> int:
    """Return how many hits each search must give so that no memory outside of both lists can reach the best `n`.

    With r the ratio of the greatest and the least factor of all steps together, and w the sum of the weights over the
    greater one, such a memory scores at most w r / (k + 1 + depth), the n-th best at least 1 / (k + n), in units of the
    greater weight; so depth = w r (k + n) - k, which is 3n + 2k for equal weights and r = 1.5.
    """
    ratio = math.prod(step.max_factor / step.min_factor for step in steps)
    return math.ceil(sum(weights) / max(weights) * ratio * (k + n)) - k


def blend(bm25: Floats, cosines: Floats, weights: Weights, max_score: float, nearest: float | None = None) -> Floats:
    """Average what the words and the meaning of memories score, by their weights.

    The words: BM25 over `max_score`, that of a memory of mean length that contains each word of the query once. The
    meaning: cosine similarity over `nearest`, that of the nearest memory (by default, of these), if it is above zero;
    what opposes the query gets nothing for it. If a memory has no vector yet, and NaN, the words count for both.
    """
    by_words = weights.text / sum(weights)
    words = bm25 / max_score if max_score > 0 else np.zeros(len(bm25))
    return words * np.where(np.isnan(cosines), 1.0, by_words) + meaning(cosines, weights, nearest)


def meaning(cosine: Floats, weights: Weights, nearest: float | None = None) -> Floats:
    """Return the part of the meaning in a blend."""
    similarity = np.fmax(cosine, 0.0)
    greatest = similarity.max(initial=0.0) if nearest is None else nearest
    return similarity / (greatest or 1.0) * (1.0 - weights.text / sum(weights))


def blend_depth(n: int) -> int:
    """Return how many hits of each search to blend: far more than are wanted."""
    return max(50, 5 * n)


def relevance(
    similarity: npt.ArrayLike, share: npt.ArrayLike, curve: Curve, *, memories: int, is_unknown: bool = False
) -> Floats:
    """Return how probable it is that memories answer a query, by their own texts alone, in [0, 1].

        1 / (1 + exp(-x)),  x = c * (similarity - chance) + s * share ** 3 + b,  or  x = 7.3 * share ** 3 - 1.7
        chance = spread * (sqrt(2 * ln(memories)) - sqrt(2 * ln(1000)))

    The factors c, s, b and the spread are those of the curve of the embedding model. The more memories there are, the
    nearer to a query the nearest is by chance: of n numbers of a normal distribution the greatest lies about
    sqrt(2 ln n) standard deviations above their mean. The curves hold among 1,000 memories; fewer than 60 count as 60.
    The second x is for a memory without a cosine similarity (NaN). The share is that of the query's words which the
    memory contains, weighed by their rarity; the cube says that half of the words is little, and all of them nearly
    enough. With neither of the two the relevance is 0. `is_unknown` says that no memory contains a word of the query:
    then a similarity counts less, since any two short texts are somewhat alike. Both curves are logistic regressions
    over queries that a memory answers and queries that none does, one half each; `python3 -m bench relevance` fits them
    again.
    """
    cosine, cube = np.asarray(similarity, np.float64), np.asarray(share, np.float64) ** 3
    chance = curve.spread * (_greatest_of(max(memories, _FEW)) - _greatest_of(_FITTED_ON))
    less = chance + (curve.unknown_discount if is_unknown else 0.0)
    x = np.where(
        np.isnan(cosine),
        np.where(cube > 0, _SHARE_ALONE * cube + _NOTHING, -np.inf),
        curve.cosine * (cosine - less) + curve.share * cube + curve.bias,
    )
    probable: Floats = 1.0 / (1.0 + np.exp(-x))
    return probable


def _greatest_of(count: int) -> float:
    # The greatest of so many numbers of a standard normal distribution, about.
    return math.sqrt(2 * math.log(count))
