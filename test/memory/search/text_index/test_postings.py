"""A block of postings against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.search.text_index.postings import SPAN, Block, BlockBuilder, Postings

from ....support.text_blocks import WORDS, Texts, block_of, build, texts_behind_three

LOW, HIGH = 3, 63
COLUMNS = ("ids", "unheld", "codes", "starts", "places", "lengths")
asked_words = st.lists(st.sampled_from((*WORDS, "unheard")), min_size=1, max_size=5)


def as_lists(found: Postings) -> tuple[list[int], list[int], list[int]]:
    """Postings as plain lists."""
    return found.docs.tolist(), found.repeats.tolist(), found.counts.tolist()


@given(texts=texts_behind_three, words=asked_words, piece=st.integers(1, 50))
def test_a_block_tells_where_each_word_stands_and_how_often(texts: Texts, words: list[str], piece: int) -> None:
    block = block_of(texts, LOW, HIGH, piece=piece)
    for word in words:
        found = block.postings(word)
        counts = {place: list(held).count(word) for place, held in enumerate(texts.values()) if word in held}
        repeated = {place: count for place, count in counts.items() if count > 1}
        assert as_lists(found) == (list(counts), list(repeated), list(repeated.values()))
        assert block.counts([[word]], np.arange(len(texts)))[0].tolist() == [
            held.count(word) for held in texts.values()
        ]
        # Once more: of a frequent word it is kept.
        sums = np.zeros(len(texts))
        block.postings(word).add_to(sums, 2.0)
        assert sums.tolist() == [2.0 * (word in held) for held in texts.values()]


@given(texts=texts_behind_three, words=st.lists(st.sampled_from((*WORDS, "unheard")), min_size=2, max_size=3))
def test_a_block_tells_where_words_stand_together(texts: Texts, words: list[str]) -> None:
    block = block_of(texts, LOW, HIGH)
    times = [sum(list(held[at : at + len(words)]) == words for at in range(len(held))) for held in texts.values()]
    assert block.counts([words], np.arange(len(texts)))[0].tolist() == times
    found = {place: times for place, times in enumerate(times) if times}
    assert block.together(words).docs.tolist() == list(found)
    assert as_lists(block.together(words))[1:] == (
        [place for place, times in found.items() if times > 1],
        [times for times in found.values() if times > 1],
    )


@given(texts=texts_behind_three)
def test_a_block_is_packed_and_unpacked_as_it_is(texts: Texts) -> None:
    block = block_of(texts, LOW, HIGH)
    other = Block.unpack(LOW, HIGH, 7, block.pack())
    assert other is not None
    assert (other.low, other.high, other.revision) == (LOW, HIGH, 7)
    assert all(np.array_equal(getattr(block, name), getattr(other, name)) for name in COLUMNS)


def test_damaged_bytes_are_no_block() -> None:
    packed = block_of({4: ("red", "mug"), 9: ("mug",)}, LOW, HIGH).pack()
    assert Block.unpack(LOW, HIGH, 0, packed) is not None
    for damaged in (
        b"",
        packed[:9],
        packed[:-1],
        packed + b"\0",
        packed[:70] + b"\x55" + packed[71:],
        bytes(len(packed)),
    ):
        assert Block.unpack(LOW, HIGH, 0, damaged) is None


def test_no_phrase_goes_over_the_texts_of_a_memory() -> None:
    builder = BlockBuilder(0, 2, 0)
    builder.add([1, 2], ["room 12 |  | |", "room | 12 | room | 12 room 12"])
    block = builder.block()
    assert block.counts([["room", "12"]], np.arange(2))[0].tolist() == [1, 1]
    assert block.lengths.tolist() == [2, 6]


def test_a_block_of_some_words_holds_no_others() -> None:
    builder = BlockBuilder(0, 2, 0, words=["red", "mug"], wide=True)
    builder.add([1, 2], ["red lamp red mug | | |", "red " * 70_000 + "red mug | | |"])
    block = builder.block()
    assert block.counts([["lamp"]], np.arange(2))[0].tolist() == [0, 0]
    assert block.counts([["red", "mug"]], np.arange(2))[0].tolist() == [1, 1]
    assert block.lengths.tolist() == [4, 70_002]


@given(texts=texts_behind_three)
def test_a_block_tells_how_long_each_memory_is(texts: Texts) -> None:
    block = block_of(texts, LOW, HIGH, revision=7)
    lengths = [len(held) for held in texts.values()]
    assert block.lengths.tolist() == lengths
    assert block.memories == sum(length > 0 for length in lengths)
    assert block.shortest == min(filter(None, lengths), default=0)
    assert (block.low, block.high, block.revision) == (LOW, HIGH, 7)


@given(texts=texts_behind_three, words=asked_words)
def test_a_memory_holds_some_words_where_it_holds_each_of_them(texts: Texts, words: list[str]) -> None:
    holding = [one for one, held in texts.items() if set(words) <= set(held)]
    block = block_of(texts, LOW, HIGH)
    assert block.ids[block.holding(words)].tolist() == holding


@given(texts=texts_behind_three, wanted=st.sets(st.integers(0, HIGH + 9)))
def test_a_block_tells_which_of_some_ids_it_has(texts: Texts, wanted: set[int]) -> None:
    block = block_of(texts, LOW, HIGH)
    places = block.docs_of(np.array(sorted(wanted), np.int64))
    assert places.tolist() == [place for place, one in enumerate(texts) if one in wanted]
    assert block.ids[places].tolist() == sorted(wanted & texts.keys())


@given(texts=texts_behind_three, middle=st.integers(LOW, HIGH), word=st.sampled_from(WORDS))
def test_two_blocks_hold_what_one_over_both_ranges_holds(texts: Texts, middle: int, word: str) -> None:
    ids = [
        one
        for block in (block_of(texts, LOW, middle), block_of(texts, middle, HIGH))
        for one in block.ids[block.postings(word).docs].tolist()
    ]
    assert ids == [one for one, held in texts.items() if word in held]


@pytest.mark.parametrize("texts", [[], [([], [])], [([5, 9], ["", " "])]])
def test_a_block_without_a_word_holds_none(texts: list[tuple[list[int], list[str]]]) -> None:
    block = build(3, 10, texts)
    assert [as_lists(block.postings(word)) for word in ("red", "mug")] == [([], [], [])] * 2
    assert block.holding(["red", "mug"]).tolist() == []
    assert (block.memories, block.shortest, block.lengths.tolist()) == (0, 0, [0] * sum(len(ids) for ids, _ in texts))


def test_an_empty_range_has_no_place_at_all() -> None:
    block = build(3, 3, [])
    assert (len(block.lengths), block.memories, block.shortest) == (0, 0, 0)
    assert block.postings("red").docs.tolist() == []


def test_the_first_and_the_last_place_of_the_widest_block_are_kept_apart() -> None:
    between = ["lamp"] * (SPAN - 2)
    block = build(10, 10 + SPAN, [(range(11, 11 + SPAN), ["red mug", *between, "mug blue mug"])])
    assert [as_lists(block.postings(word)) for word in ("red", "mug", "blue")] == [
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


def test_ids_may_be_far_apart() -> None:
    low, high = 2**40, 2**62
    block = build(low, high, [([low + 1, high], ["red mug", "mug"])])
    assert block.ids[block.holding(["mug"])].tolist() == [low + 1, high]
    assert block.docs_of(np.array([low, low + 1, low + 2, high, high + 1])).tolist() == [0, 1]


@pytest.mark.parametrize(("words", "is_held"), [(65_532, True), (65_533, False), (200_000, False)])
def test_a_text_whose_places_take_more_than_sixteen_bits_is_not_held(words: int, is_held: bool) -> None:
    block = build(0, 3, [([1, 2, 3], ["mug", "red " * words, "red mug"])])
    assert block.unheld.tolist() == ([] if is_held else [2])
    assert block.counts([["red"]], np.arange(3))[0].tolist() == [0, words * is_held, 1]
    assert block.counts([["mug"]], np.arange(3))[0].tolist() == [1, 0, 1]
