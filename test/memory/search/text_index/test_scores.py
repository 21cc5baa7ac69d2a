"""The best memories for some words against brute force over their texts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory.search.text_index.postings import Block
from robotmem_ros.memory.search.text_index.scores import WeightedTerms

from ....support.text_blocks import FORMULA, WORDS, Texts, block_of, build, score, texts_behind_three

LOW, HIGH = 3, 63
COMPOUNDS = ("grip forc", "12 5", "mug mug", "red blue mug", "杯 杯子", "grip unheard")
weights = st.sampled_from((1e-6, 0.5, 1.0, 2.25, 7.0))
asked_words = st.dictionaries(st.sampled_from((*WORDS, "unheard")), weights, min_size=1, max_size=5)
asked_compounds = st.dictionaries(st.sampled_from(COMPOUNDS), weights, max_size=2)


@st.composite
def some_blocks(draw: st.DrawFn, texts: Texts) -> list[Block]:
    """Blocks that cover the ids from the first one on, some of them empty."""
    cuts = sorted({LOW, HIGH, *draw(st.lists(st.integers(LOW, HIGH), max_size=4))})
    return [block_of(texts, low, high) for low, high in pairwise(cuts)]


def best(terms: WeightedTerms, blocks: list[Block], n: int) -> dict[int, float]:
    """The scores of the best memories, in their order."""
    ids, scores = terms.best(blocks, n)
    assert len(set(ids.tolist())) == len(ids)
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


@settings(max_examples=400)
@given(data=st.data(), texts=texts_behind_three, words=asked_words, compounds=asked_compounds)
def test_the_best_are_those_of_brute_force_and_of_those_that_tie_the_newest(
    data: st.DataObject, texts: Texts, words: Mapping[str, float], compounds: Mapping[str, float]
) -> None:
    terms = WeightedTerms(words, compounds, FORMULA)
    n = data.draw(st.integers(1, 45))
    found = best(terms, data.draw(some_blocks(texts)), n)
    within = {one: list(held) for one, held in texts.items()}
    holding = {one for one, held in within.items() if not words.keys().isdisjoint(held)}
    expected = {one: score(within[one], words, compounds, FORMULA) for one in holding}
    assert found == pytest.approx({one: expected[one] for one in found}, rel=1e-12)
    assert list(found) == sorted(found, key=lambda one: (-found[one], -one))
    assert len(found) == min(n, len(holding))
    least = min(found.values(), default=0.0)
    for one in holding - found.keys():
        assert expected[one] <= least * (1 + 1e-12)
        alike = [other for other in found if sorted(within[other]) == sorted(within[one]) and not compounds]
        assert all(other > one for other in alike)


@given(texts=texts_behind_three, words=asked_words, compounds=asked_compounds, cut=st.integers(LOW, HIGH))
def test_a_memory_by_itself_scores_the_same_to_the_last_bit(
    texts: Texts, words: Mapping[str, float], compounds: Mapping[str, float], cut: int
) -> None:
    terms = WeightedTerms(words, compounds, FORMULA)
    found = best(terms, [block_of(texts, LOW, cut), block_of(texts, cut, HIGH)], HIGH)
    for one, held in texts.items():
        scores, holding = terms.measure(build(0, HIGH, [([one], [" ".join(held)])]), np.array([0]))
        assert scores.tolist() == [found.get(one, 0.0)]
        assert holding[:, 0].tolist() == [word in held for word in words]


def test_words_without_a_memory_find_none() -> None:
    empty, filled = build(0, 5, []), build(5, 9, [([6, 8], ["red mug", "blue mug"])])
    for blocks in ([], [empty], [filled], [empty, filled]):
        assert best(WeightedTerms({"unheard": 3.0}, {"un heard": 3.0}, FORMULA), blocks, 5) == {}
    mug = WeightedTerms({"mug": 3.0}, {}, FORMULA)
    assert list(best(mug, [empty, filled], 5)) == [8, 6]


def test_of_memories_that_are_the_same_the_newest_are_chosen_over_all_blocks() -> None:
    texts = dict.fromkeys(range(LOW + 1, HIGH + 1), ("red", "mug"))
    blocks = [block_of(texts, low, low + 10) for low in range(LOW, HIGH, 10)]
    found = best(WeightedTerms({"mug": 2.0}, {}, FORMULA), blocks, 25)
    assert list(found) == list(range(HIGH, HIGH - 25, -1))
    (same,) = set(found.values())
    assert same == pytest.approx(score(["red", "mug"], {"mug": 2.0}, {}, FORMULA), rel=1e-12)
