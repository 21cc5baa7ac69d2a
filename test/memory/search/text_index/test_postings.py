"""A block of postings against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.search.text_index.postings import SPAN, Postings

from ....support.text_blocks import WORDS, Texts, block_of, build, texts_behind_three

LOW, HIGH = 3, 63
asked_words = st.lists(st.sampled_from((*WORDS, "unheard")), min_size=1, max_size=5)


def as_lists(found: Postings) -> tuple[list[int], list[int], list[int]]:
    """Postings as plain lists."""
    return found.docs.tolist(), found.repeated.tolist(), found.counts.tolist()


@given(texts=texts_behind_three, words=asked_words, piece=st.integers(1, 50))
def test_a_block_tells_where_each_word_stands_and_how_often(texts: Texts, words: list[str], piece: int) -> None:
    block = block_of(texts, LOW, HIGH, piece=piece)
    for word, found in zip(words, block.postings(words), strict=True):
        counts = {place: list(held).count(word) for place, held in enumerate(texts.values()) if word in held}
        repeated = {place: count for place, count in counts.items() if count > 1}
        assert as_lists(found) == (list(counts), list(repeated), list(repeated.values()))


@given(texts=texts_behind_three)
def test_a_block_tells_how_long_each_memory_is(texts: Texts) -> None:
    block = block_of(texts, LOW, HIGH, changes=7)
    lengths = [len(held) for held in texts.values()]
    assert block.lengths.tolist() == lengths
    assert block.memories == sum(length > 0 for length in lengths)
    assert block.shortest == min(filter(None, lengths), default=0)
    assert (block.low, block.high, block.changes) == (LOW, HIGH, 7)


@given(texts=texts_behind_three, words=asked_words)
def test_a_memory_holds_some_words_where_it_holds_each_of_them(texts: Texts, words: list[str]) -> None:
    holding = [one for one, held in texts.items() if set(words) <= set(held)]
    block = block_of(texts, LOW, HIGH)
    assert block.ids(block.holding(words)).tolist() == holding


@given(texts=texts_behind_three, wanted=st.sets(st.integers(0, HIGH + 9)))
def test_a_block_tells_which_of_some_ids_it_has(texts: Texts, wanted: set[int]) -> None:
    block = block_of(texts, LOW, HIGH)
    places = block.docs_of(np.array(sorted(wanted), np.int64))
    assert places.tolist() == [place for place, one in enumerate(texts) if one in wanted]
    assert block.ids(places).tolist() == sorted(wanted & texts.keys())


@given(texts=texts_behind_three, middle=st.integers(LOW, HIGH), word=st.sampled_from(WORDS))
def test_two_blocks_hold_what_one_over_both_ranges_holds(texts: Texts, middle: int, word: str) -> None:
    ids = [
        one
        for block in (block_of(texts, LOW, middle), block_of(texts, middle, HIGH))
        for one in block.ids(block.postings([word])[0].docs).tolist()
    ]
    assert ids == [one for one, held in texts.items() if word in held]


@pytest.mark.parametrize("texts", [[], [([], [])], [([5, 9], ["", " "])]])
def test_a_block_without_a_word_holds_none(texts: list[tuple[list[int], list[str]]]) -> None:
    block = build(3, 10, texts)
    assert [as_lists(found) for found in block.postings(["red", "mug"])] == [([], [], [])] * 2
    assert block.holding(["red", "mug"]).tolist() == []
    assert (block.memories, block.shortest, block.lengths.tolist()) == (0, 0, [0] * sum(len(ids) for ids, _ in texts))


def test_an_empty_range_has_no_place_at_all() -> None:
    block = build(3, 3, [])
    assert (len(block.lengths), block.memories, block.shortest) == (0, 0, 0)
    assert block.postings(["red"])[0].docs.tolist() == []
    assert block.postings([]) == []


def test_the_first_and_the_last_place_of_the_widest_block_are_kept_apart() -> None:
    between = ["lamp"] * (SPAN - 2)
    block = build(10, 10 + SPAN, [(range(11, 11 + SPAN), ["red mug", *between, "mug blue mug"])])
    assert [as_lists(found) for found in block.postings(["red", "mug", "blue"])] == [
        ([0], [], []),
        ([0, SPAN - 1], [SPAN - 1], [2]),
        ([SPAN - 1], [], []),
    ]
    assert block.holding(["mug", "blue"]).tolist() == [SPAN - 1]


@given(count=st.integers(0, 20), wanted=st.sets(st.integers(0, 30)))
def test_a_block_without_gaps_tells_which_of_some_ids_it_has(count: int, wanted: set[int]) -> None:
    texts = dict.fromkeys(range(4, 4 + count), ("red",))
    places = block_of(texts, 3, 3 + count).docs_of(np.array(sorted(wanted), np.int64))
    assert places.tolist() == [one - 4 for one in sorted(wanted & texts.keys())]


def test_ids_may_be_as_far_apart_as_thirty_two_bits_tell() -> None:
    low, high = 2**40, 2**40 + 2**32 - 1
    block = build(low, high, [([low + 1, high], ["red mug", "mug"])])
    assert block.ids(block.holding(["mug"])).tolist() == [low + 1, high]
    assert block.docs_of(np.array([low, low + 1, low + 2, high, high + 1])).tolist() == [0, 1]


@pytest.mark.parametrize(("times", "kept"), [(65_534, 65_534), (65_535, 65_535), (65_536, 65_535), (200_000, 65_535)])
def test_what_stands_more_often_than_sixteen_bits_tell_counts_as_the_most_they_tell(times: int, kept: int) -> None:
    block = build(0, 2, [([1, 2], ["red " * times + "mug", "mug"])])
    assert [as_lists(found) for found in block.postings(["red", "mug"])] == [([0], [0], [kept]), ([0, 1], [], [])]
    assert block.lengths.tolist() == [min(times + 1, 65_535), 1]
