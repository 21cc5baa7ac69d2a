"""A statement has the words and names of a text, and the values, polarities and negations that it claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.text.statement import jaccard, statement

SAME_CLAIM = [
    ("Hold it with 12.5 N", "hold it with 12.5 newtons"),
    ("Wait two hours", "Wait 2 h"),
    ("等待两小时", "等待2小时"),
    ("Docking failed", "Docking did not work"),
    ("Docking was unsuccessful", "Docking failed"),
    ("The door isn't open", "The door is closed"),
    ("不要进入婴儿房", "别进入婴儿房"),
    ("Do not enter", "Never enter"),
    ("The robot needs to stop", "The robot must stop"),
    ("一个红色的杯子", "红色杯子"),
    ("Hold it with .8 N", "Hold it with 0.8 N"),
]
OTHER_CLAIM = [
    ("12.5 N", "15 N"), ("5 mN", "5 MN"), ("5 s", "5 min"), ("30 cm", "0.3 m"), ("-5 °C", "5 °C"), ("2.3.1", "2.3.2"),
    ("at 7:30", "at 8:30"), ("two mugs", "three mugs"), ("第三个", "第四个"), ("在二楼", "在三楼"),
    ("dock A", "dock B"),
    ("it works", "it fails"), ("is locked", "is not locked"), ("is safe", "is unsafe"), ("enter", "never enter"),
    ("成功", "失败"), ("有信号", "没有信号"), ("锁了", "没锁"), ("left", "right"), ("red", "blue"),
    ("monday", "friday"),
    ("must stop", "need not stop"), ("src/a.py", "src/b.py"), ("grip_force", "grip_width"), ("red mug", "mug"),
    ("max_retries=3", "max_retries=4"), ("左", "右"), ("红杯子", "蓝杯子"), ("东", "西"),
    ("out of the box", "into the box"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME_CLAIM)
def test_different_words_can_claim_the_same(one: str, other: str) -> None:
    left, right = statement(one), statement(other)
    assert (left.names, left.claim) == (right.names, right.claim)


@pytest.mark.parametrize(("one", "other"), OTHER_CLAIM)
def test_a_number_a_unit_a_negation_an_outcome_or_a_name_makes_another_claim(one: str, other: str) -> None:
    frame = "The robot notes about the shelf near the gate: {}"
    left, right = statement(frame.format(one)), statement(frame.format(other))
    assert (left.names, left.claim) != (right.names, right.claim)


def test_what_a_word_means_in_english_is_not_read_into_texts_of_other_languages() -> None:
    for foreign in ("O robô está no quarto e não na sala", "Die Tür ist not und on"):
        claim = statement(foreign).claim
        assert (claim.negations, claim.polarities) == (0, frozenset())
    assert statement("Der Greifer hält es mit 12 N").claim != statement("Der Greifer hält es mit 15 N").claim


def test_a_very_long_text_is_compared_as_a_whole() -> None:
    long = "The gate leaks at 5 N. " * 200
    assert statement(long) == statement(f" {long}!")
    assert statement(long) != statement(f"{long} The gate leaks at 6 N.")


@given(st.text(max_size=60))
def test_the_statement_of_any_text_is_similar_to_itself(text: str) -> None:
    terms = statement(text).terms
    assert jaccard(terms, terms) == (1.0 if terms else 0.0)


def test_jaccard_counts_common_elements_by_all_elements() -> None:
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 0.5
    assert jaccard(frozenset(), frozenset()) == 0.0


def test_a_word_is_no_negation_because_its_stem_looks_like_one() -> None:
    assert statement("The note about the boxes").claim.negations == 0
    assert statement("Turn one wheel").claim == statement("Turn the wheel").claim
