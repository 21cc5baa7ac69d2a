"""Score what the searches found: its relevance, fusion, then a list of steps, each with least and greatest factor.

A new step is an entry in `scoring_steps` with its parameter; the depth of the searches follows from the list.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..config.parameters import Parameters
from ..models import ScorePart
from ..storage.overview import Overview, overview
from .result import Ranking

Scores = dict[int, float]
"""Score by memory id, higher is better."""
Parts = defaultdict[int, list[ScorePart]]
"""What each step did, by memory id."""
ADD, MULTIPLY = "add", "multiply"
_COSINE, _SHARE, _NEITHER = 7.3, 3.1, -4.1
_SHARE_ALONE, _NOTHING = 7.3, -1.7
UNKNOWN = 0.035
"""By how much less a cosine counts if no memory contains a word of the query."""
_LAST_LATIN = "\u024f"

_IS_REAL = """EXISTS (
    SELECT 1 FROM json_values WHERE path_id = (SELECT id FROM json_paths WHERE path = 'env.sim_or_real')
    AND value = 'real' AND memory_id = m.id)"""
_CONTRADICTED_BY = """(
    SELECT max(other.id) FROM contradictions AS c JOIN memories AS other ON other.id = c.other_id
    WHERE c.memory_id = m.id AND other.status = 'active' AND (other.observed_at, other.id) > (m.observed_at, m.id))"""
_LIKELY_OUTCOME = "(SELECT (total + 1.0) / (weight + 2.0) FROM memory_outcomes WHERE memory_id = m.id)"


class Step(NamedTuple):
    """One step of scoring, which adds to a score or multiplies it."""

    name: str
    operation: str
    """`add` or `multiply`."""
    columns: tuple[str, ...]
    """What it reads of a memory: SQL expressions over the alias `m` of memories."""
    value: Callable[..., float]
    """The addend or factor of a memory, given all scores before this step, and the values of its columns."""
    reason: Callable[..., str]
    """The reason in words, given the same."""
    least: float
    """It multiplies no score by less than this."""
    greatest: float
    """It multiplies no score by more than this."""
    is_any: Callable[[Overview], bool] = lambda _: True
    """Whether it may change the score of any memory."""

    def part(self, scores: Scores, before: float, values: Sequence[Any]) -> ScorePart:
        """Explain what the step makes of a score."""
        value = self.value(scores, *values)
        return ScorePart(self.name, self.operation, value, self.reason(scores, *values), self.after(before, value))

    def after(self, score: float, value: float) -> float:
        """Return a score after this step with an addend or factor."""
        return score + value if self.operation == ADD else score * value


def scoring_steps(parameters: Parameters, *, has_outcomes: bool) -> tuple[Step, ...]:
    """List the steps in their order. `has_outcomes` tells whether any memory was recalled in a rated session."""
    steps = (
        _weight(
            "real world",
            _IS_REAL,
            lambda there: there.has_real,
            parameters.real_weight,
            lambda _: "env.sim_or_real is real",
        ),
        _weight(
            "contradicted",
            _CONTRADICTED_BY,
            lambda there: there.has_contradictions,
            parameters.contradicted_weight,
            "memory {} contradicts it and is newer".format,
        ),
        _outcomes(parameters.outcome_weight if has_outcomes else 0.0),
    )
    return tuple(step for step in steps if (step.least, step.greatest) != (1.0, 1.0))


def _weight(
    name: str, condition: str, is_any: Callable[[Overview], bool], weight: float, reason: Callable[[int], str]
) -> Step:
    # Real runs count more than simulated ones; facts that a newer active fact contradicts count less. Newer is what was
    # observed later, and of two observed at once, what was stored later.
    def value(_: Scores, holds: int | None) -> float:
        return weight if holds else 1.0

    least, greatest = min(weight, 1.0), max(weight, 1.0)
    return Step(name, MULTIPLY, (condition,), value, lambda _, holds: reason(holds), least, greatest, is_any)


def _outcomes(bound: float) -> Step:
    # weight = 1 + bound * (2 * u - 1),  u = (sum of share * outcome + 1) / (sum of shares + 2)
    # The sums are over the sessions in which the memory was recalled; a share is 1 / rank at which it was returned
    # there. u is Laplace's estimate of how well such a session goes: one half while nothing is known, never 0 or 1.
    def value(_: Scores, likely: float | None) -> float:
        return 1.0 if likely is None else 1.0 + bound * (2.0 * likely - 1.0)

    def reason(_: Scores, likely: float) -> str:
        return f"sessions in which it was recalled have an outcome of {likely:.2f}, as far as is known"

    least, greatest = 1.0 - bound, 1.0 + bound
    return Step(
        "outcomes", MULTIPLY, (_LIKELY_OUTCOME,), value, reason, least, greatest, lambda there: there.has_outcomes
    )


def apply_steps(
    connection: sqlite3.Connection, scores: Scores, steps: Sequence[Step], parts: Parts | None = None
) -> Scores:
    """Return the scores after all steps. All columns are read by one statement.

    `parts`, if given, gets what each step does to each memory, unless it changes nothing.
    """
    if scores and steps:
        there = overview(connection)
        steps = [step for step in steps if step.is_any(there)]
    if not scores or not steps:
        return scores
    columns = ", ".join(column for step in steps for column in step.columns)
    rows = connection.execute(
        f"SELECT m.id, {columns} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value",
        (json.dumps(list(scores)),),
    ).fetchall()
    first = 1
    for step in steps:
        last = first + len(step.columns)
        after = {row[0]: step.after(scores[row[0]], step.value(scores, *row[first:last])) for row in rows}
        if parts is not None:
            for row in rows:
                if after[row[0]] != scores[row[0]]:
                    parts[row[0]].append(step.part(scores, scores[row[0]], row[first:last]))
        scores, first = after, last
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


def reciprocal_rank_fusion(text: Ranking, vector: Ranking, weights: Weights, k: int) -> Scores:
    """Sum weight / (k + rank + 1) over both rankings, ranks counted from 0.

    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, 2009.
    """
    scores: Scores = {}
    for ranking, weight in zip((text, vector), weights, strict=True):
        for rank, hit in enumerate(ranking):
            scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + weight / (k + rank + 1)
    return scores


def rrf_depth(n: int, k: int, weights: Weights, steps: Sequence[Step]) -> int:
    """Return how many hits each search must give so that no memory outside of both lists can reach the best `n`.

    With r the ratio of the greatest and the least factor of all steps together, and w the sum of the weights over the
    greater one, such a memory scores at most w r / (k + 1 + depth), the n-th best at least 1 / (k + n), in units of the
    greater weight; so depth = w r (k + n) - k, which is 3n + 2k for equal weights and r = 1.5.
    """
    ratio = math.prod(step.greatest / step.least for step in steps)
    return math.ceil(sum(weights) / max(weights) * ratio * (k + n)) - k


def blend(text: Ranking, vector: Ranking, weights: Weights, max_score: float) -> Scores:
    """Average what the words and the meaning score, by their weights; both searches should measure each memory.

    The words: BM25 over `max_score`, that of a memory of mean length that contains each word of the query once. The
    meaning: cosine similarity over that of the nearest memory, if it is above zero; what opposes the query gets
    nothing for it. If a memory has no vector yet, the words count for both.
    """
    by_words = weights.text / sum(weights)
    measured = {hit.memory_id for hit in vector}
    scores: Scores = {}
    for hit in text if max_score > 0 else ():
        scores[hit.memory_id] = -hit.measure / max_score * (by_words if hit.memory_id in measured else 1.0)
    nearest = max((1.0 - hit.measure for hit in vector), default=0.0)
    for hit in vector:
        similarity = max(1.0 - hit.measure, 0.0) / nearest if nearest > 0 else 0.0
        scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + similarity * (1.0 - by_words)
    return scores


def blend_depth(n: int) -> int:
    """Return how many hits of each search to blend: far more than are wanted."""
    return max(50, 5 * n)


def normalise(scores: Scores) -> Scores:
    """Divide the scores by the highest one, so that results of different queries can be compared."""
    best = max(scores.values(), default=0.0)
    return {memory_id: score / best if best > 0 else 1.0 for memory_id, score in scores.items()}


def relevance(similarity: float, share: float, *, is_unknown: bool = False) -> float:
    """Return how probable it is that a memory answers a query, by its own text alone, in [0, 1].

        1 / (1 + exp(-x)),  x = 7.3 * similarity + 3.1 * share ** 3 - 4.1,  or  x = 7.3 * share ** 3 - 1.7

    The second is for a memory without a cosine similarity (NaN). The share is that of the query's words which the
    memory contains, weighed by their rarity; the cube says that half of the words is little, and all of them nearly
    enough. With neither of the two the relevance is 0. `is_unknown` says that no memory contains a word of the query:
    then a similarity counts 0.035 less, since any two short texts are somewhat alike. Both curves are logistic
    regressions over queries that a memory answers and queries that none does, one half each; `python3 -m bench
    relevance` fits them again.
    """
    if math.isnan(similarity):
        return _logistic(_SHARE_ALONE * share**3 + _NOTHING) if share else 0.0
    return _logistic(_COSINE * (similarity - (UNKNOWN if is_unknown else 0.0)) + _SHARE * share**3 + _NEITHER)


def tells_meaning(query: str) -> bool:
    """Return whether cosines tell anything of a query: not if most of its letters are beyond Latin script.

    To the default model, which reads English, any two Chinese texts are about as near as a question and its answer.
    """
    if query.isascii():
        return True
    letters = [letter for letter in query if letter.isalpha()]
    return 2 * sum(letter > _LAST_LATIN for letter in letters) <= len(letters)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
