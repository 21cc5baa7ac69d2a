"""What a text says, for comparing: words, names, values, sides, negations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.text.statement import jaccard, normalised, wording
from robotmem_ros.memory.text.subject import digest, subject

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
    ("older than the map", "older than the floor"), ("before lifting", "before turning"),
    ("max_retries=3", "max_retries=4"), ("左", "右"), ("红杯子", "蓝杯子"), ("东", "西"),
    ("from the hall to the yard", "from the yard to the hall"), ("先开灯再开门", "先开门再开灯"),
    ("out of the box", "into the box"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME_CLAIM)
def test_different_words_can_claim_the_same(one: str, other: str) -> None:
    assert wording(one).claim == wording(other).claim


@pytest.mark.parametrize(("one", "other"), OTHER_CLAIM)
def test_a_number_a_unit_a_negation_an_outcome_or_a_name_makes_another_claim(one: str, other: str) -> None:
    frame = "The robot notes about the shelf near the gate: {}"
    assert wording(frame.format(one)).claim != wording(frame.format(other)).claim


def test_case_space_and_outer_punctuation_do_not_matter() -> None:
    assert len({digest(text) for text in ("Red  mug.", "red mug", " RED MUG!", "“Red mug”", "ｒｅｄ ｍｕｇ")}) == 1
    assert digest("抓取玻璃杯用 12.5 N 的力") == digest("抓取玻璃杯用12.5N的力。")
    assert digest("red mug") != digest("redmug")


def test_a_text_of_punctuation_is_itself() -> None:
    assert len({digest(text) for text in ("!", "?", "!!", "...")}) == 4


def test_of_a_very_long_text_only_the_whole_is_compared() -> None:
    long = "The gate leaks at 5 N. " * 200
    assert wording(long).claim == wording(f" {long.upper()}").claim
    assert wording(long).claim != wording(f"{long} The gate leaks at 6 N.").claim


@given(st.text(max_size=60))
def test_any_text_has_a_wording_that_is_like_itself(text: str) -> None:
    said = wording(text)
    assert jaccard(said, said) == 1.0
    assert wording(f" {text} ").digest == said.digest
    assert normalised(normalised(text)) == normalised(text)


@given(
    st.lists(
        st.sampled_from(["robot", "shelf", "gate", "crate", "hose", "rope", "lid", "cart", "lamp"]),
        min_size=1,
        max_size=9,
    )
)
def test_numbers_are_shared_just_as_words_are(words: list[str]) -> None:
    mine, other = subject("default", " ".join(words)), subject("default", "crate hose rope")
    assert len(mine.words) == len(set(words))
    assert len(set(mine.words) & set(other.words)) == len(set(words) & {"crate", "hose", "rope"})
    assert not set(mine.words) & set(subject("lab", " ".join(words)).words)
    assert mine.signature & other.signature == other.signature or not set(words) >= {"crate", "hose", "rope"}
    assert json.loads(mine.words_json) == list(mine.words)


def test_facts_that_differ_in_a_number_or_an_outcome_have_one_subject() -> None:
    texts = ["Grasping with 5 N works", "grasping with 6 N failed", "Grasping at 7 N does not work"]
    assert len({subject("default", text).id for text in texts}) == 1
    assert len({subject("default", text).claim for text in texts}) == 3
    assert len({subject("default", f"{text} at dock {letter}").id for letter in "BC" for text in texts}) == 2
