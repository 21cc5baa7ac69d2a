"""The choice of the best memories against brute force over their texts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory.search.text_index.postings import Block, Scores

from ....support.text_blocks import FORMULA, WORDS, Texts, block_of, build, score, texts_behind_three

LOW, HIGH = 3, 63
ROUNDING = 1e-9
COMPOUNDS = ("grip forc", "12 5", "mug mug", "red blue mug", "杯 杯子")
weights = st.sampled_from((1e-6, 0.5, 1.0, 2.25, 7.0))
asked_words = st.dictionaries(st.sampled_from((*WORDS, "unheard")), weights, min_size=1, max_size=5)
asked_compounds = st.dictionaries(st.sampled_from(COMPOUNDS), weights, max_size=2)


@st.composite
def some_blocks(draw: st.DrawFn, texts: Texts) -> list[Block]:
    """Blocks that cover the ids from the first one on, some of them empty."""
    cuts = sorted({LOW, HIGH, *draw(st.lists(st.integers(LOW, HIGH), max_size=4))})
    return [block_of(texts, low, high) for low, high in pairwise(cuts)]


def at_most(held: list[str], asked: Scores) -> float:
    """The most that a memory can score: by its words, and by compounds wherever all of their words stand."""
    most = score(held, asked.words, {}, asked.formula)
    return most + sum(
        weight * (asked.formula.k1 + 1)
        for compound, weight in asked.compounds.items()
        if set(compound.split()) <= set(held)
    )


def signature(held: list[str], asked: Scores) -> tuple[object, ...]:
    """What a score is made of: memories that are the same in this tie."""
    compounds = [set(compound.split()) <= set(held) for compound in asked.compounds]
    return (len(held), *(held.count(word) for word in asked.words), *compounds)


@settings(max_examples=400)
@given(data=st.data(), texts=texts_behind_three, words=asked_words, compounds=asked_compounds)
def test_the_best_are_those_of_brute_force_and_of_those_that_tie_the_newest(
    data: st.DataObject, texts: Texts, words: Mapping[str, float], compounds: Mapping[str, float]
) -> None:
    asked = Scores(data.draw(some_blocks(texts)), words, compounds, FORMULA)
    superset = data.draw(st.none() | st.sets(st.integers(1, HIGH + 5), min_size=1).map(sorted))
    wanted = data.draw(st.integers(1, 45))
    ids, bound, oldest = asked.best(wanted, None if superset is None else np.array(superset, np.int64))
    within = {one: list(held) for one, held in texts.items() if superset is None or one in superset}
    most = {one: at_most(held, asked) for one, held in within.items()}
    scoring = {one for one in most if most[one] > 0}
    assert len(ids) == len(set(ids)) == min(wanted, len(scoring))
    assert set(ids) <= scoring
    assert bound == 0.0 or len(ids) == wanted
    assert all(most[one] >= bound * (1 - ROUNDING) for one in ids)
    for one in scoring - set(ids):
        assert score(within[one], words, compounds, FORMULA) <= most[one] <= bound * (1 + ROUNDING)
        alike = [other for other in ids if signature(within[other], asked) == signature(within[one], asked)]
        assert all(other > one for other in alike)
        assert not alike or one < oldest or most[one] < bound


@given(texts=texts_behind_three, words=asked_words, wanted=st.integers(1, 45))
def test_where_the_ids_are_cut_changes_nothing(texts: Texts, words: Mapping[str, float], wanted: int) -> None:
    whole = Scores([block_of(texts, LOW, HIGH)], words, {}, FORMULA).best(wanted)
    parted = Scores([block_of(texts, low, low + 10) for low in range(LOW, HIGH, 10)], words, {}, FORMULA).best(wanted)
    assert parted[1] == pytest.approx(whole[1], rel=ROUNDING)
    held = [sorted(score(list(texts[one]), words, {}, FORMULA) for one in found[0]) for found in (whole, parted)]
    assert held[0] == pytest.approx(held[1], rel=ROUNDING)


def test_words_without_a_memory_find_none() -> None:
    empty, filled = build(0, 5, []), build(5, 9, [([6, 8], ["red mug", "blue mug"])])
    for blocks in ([], [empty], [filled], [empty, filled]):
        assert Scores(blocks, {"unheard": 3.0}, {"un heard": 3.0}, FORMULA).best(5) == ([], 0.0, 0)
    assert Scores([empty, filled], {"mug": 3.0}, {}, FORMULA).best(5, superset=np.array([1, 7, 12])) == ([], 0.0, 0)
    assert Scores([empty, filled], {"mug": 3.0}, {}, FORMULA).best(5, superset=np.array([1, 6, 12])) == ([6], 0.0, 0)


def test_of_memories_that_are_the_same_the_newest_are_chosen_over_all_blocks() -> None:
    texts = dict.fromkeys(range(LOW + 1, HIGH + 1), ("red", "mug"))
    blocks = [block_of(texts, low, low + 10) for low in range(LOW, HIGH, 10)]
    ids, bound, oldest = Scores(blocks, {"mug": 2.0}, {}, FORMULA).best(25)
    assert sorted(ids) == list(range(HIGH - 24, HIGH + 1))
    assert oldest == HIGH - 24
    assert bound == pytest.approx(score(["red", "mug"], {"mug": 2.0}, {}, FORMULA), rel=ROUNDING)


def test_a_text_longer_than_sixteen_bits_tell_is_not_left_out() -> None:
    long = "red " * 70_000 + "mug"
    blocks = [build(0, 3, [([1, 2, 3], [long, "red mug blue", "mug"])])]
    ids, bound, _ = Scores(blocks, {"red": 2.0}, {}, FORMULA).best(1)
    assert ids in ([1], [2])
    for one, text in ((1, long), (2, "red mug blue")):
        assert one in ids or score(text.split(), {"red": 2.0}, {}, FORMULA) <= bound * (1 + 1e-5)
