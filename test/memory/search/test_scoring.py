"""What fusion, session neighbours and weights make of the scores."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.search.scoring import (
    Step,
    Weights,
    blend,
    blend_depth,
    reciprocal_rank_fusion,
    rrf_depth,
)

RANKING = st.lists(st.integers(1, 40), unique=True, max_size=30)
WEIGHTS = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).filter(lambda both: max(both) > 0.01).map(Weights._make)
EQUAL = Weights(0.5, 0.5)


@given(text=RANKING, vector=RANKING, weights=WEIGHTS, k=st.integers(1, 1000))
def test_reciprocal_rank_fusion_is_its_formula(text: list[int], vector: list[int], weights: Weights, k: int) -> None:
    ids = sorted({*text, *vector})
    fused = reciprocal_rank_fusion(ranks(text, ids), ranks(vector, ids), weights, k)
    for memory_id, score in zip(ids, fused.tolist(), strict=True):
        rankings = zip((text, vector), weights, strict=True)
        naive = math.fsum(weight / (k + one.index(memory_id) + 1) for one, weight in rankings if memory_id in one)
        assert score == pytest.approx(naive, abs=1e-12)


def ranks(ranking: list[int], ids: list[int]) -> npt.NDArray[np.intp]:
    """Ranks of memories, from 1; 0 for none."""
    return np.array([ranking.index(one) + 1 if one in ranking else 0 for one in ids], np.intp)


def test_being_first_twice_beats_being_first_once() -> None:
    fused = reciprocal_rank_fusion(ranks([1, 2], [1, 2, 3]), ranks([1, 3], [1, 2, 3]), EQUAL, 60)
    assert fused.tolist() == [1 / 61, 0.5 / 62, 0.5 / 62]


@given(n=st.integers(1, 100), k=st.integers(1, 1000), weights=WEIGHTS)
def test_a_memory_that_both_searches_left_out_cannot_reach_the_best_n(n: int, k: int, weights: Weights) -> None:
    outside = 1.5 * sum(weights) / (k + 1 + rrf_depth(n, k, weights, [Step("real", lambda _: 1.5, str, 1.0, 1.5)]))
    nth_best_at_least = max(weights) / (k + n)
    assert outside < nth_best_at_least


MEASURES = st.dictionaries(st.integers(1, 20), st.floats(-50, -0.01), max_size=10)
DISTANCES = st.dictionaries(st.integers(1, 20), st.floats(0, 2), max_size=10)


def blended_from(
    measures: dict[int, float], distances: dict[int, float], weights: Weights, marks: float
) -> dict[int, float]:
    """Blend BM25 and cosine distances by memory."""
    ids = [*measures.keys() | distances.keys()]
    bm25 = -np.array([measures.get(one, 0.0) for one in ids])
    cosines = 1.0 - np.array([distances.get(one, math.nan) for one in ids])
    return dict(zip(ids, blend(bm25, cosines, weights, marks).tolist(), strict=True))


@given(measures=MEASURES, distances=DISTANCES, weights=WEIGHTS, marks=st.floats(0.1, 50))
def test_a_blend_is_its_formula(
    measures: dict[int, float], distances: dict[int, float], weights: Weights, marks: float
) -> None:
    blended = blended_from(measures, distances, weights, marks)
    share = weights.text / (weights.text + weights.vector)
    assert blended.keys() == measures.keys() | distances.keys()
    nearest = max((1 - distance for distance in distances.values()), default=0)
    for memory_id, score in blended.items():
        words = -measures.get(memory_id, 0.0) / marks
        meaning = max(1 - distances.get(memory_id, 1.0), 0) / nearest if nearest > 0 else 0
        assert score == pytest.approx(share * words + (1 - share) * meaning if memory_id in distances else words)


def test_without_words_the_meaning_decides_and_without_a_model_the_words() -> None:
    assert blended_from({}, {1: 0.2, 2: 0.6}, EQUAL, 0.0) == pytest.approx({1: 0.5, 2: 0.25})
    assert blended_from({1: -4.0, 2: -1.0}, {}, EQUAL, 4.0) == pytest.approx({1: 1.0, 2: 0.25})
    assert blended_from({}, {}, EQUAL, 0.0) == {}


@given(n=st.integers(1, 100))
def test_more_hits_are_blended_than_are_wanted(n: int) -> None:
    assert blend_depth(n) >= max(5 * n, 50)
