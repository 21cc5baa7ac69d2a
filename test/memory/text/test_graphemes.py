"""Cutting texts between characters, and finding where words are written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.text import tokens
from robotmem_ros.memory.text.inflection import MARKERS
from robotmem_ros.memory.text.letters import beginning, clusters
from robotmem_ros.memory.text.scripts import has_icu
from robotmem_ros.memory.text.tokens import written_words

CHARACTERS = """
a e\u0301 ñ 杯 红 三号 コー びル 각 ᄀ ᅡ ᆨ क् षि ไก่ นำ้ เเ ជ្រ မ္မ 👩‍👩‍👧 👍🏽 🇩🇪 🇫 \u0600
ﬁ ß İ ℡ ½ ٣ \u200b \u00ad \ufe0f . - ' A 12 mugs red _
"""
TEXTS = st.lists(st.sampled_from([*CHARACTERS.split(), " ", "\r", "\n"]) | st.text(max_size=3)).map("".join)


@given(text=TEXTS)
def test_clusters_follow_each_other_without_a_gap(text: str) -> None:
    found = list(clusters(text))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(end == start for (_, end), (start, _) in pairwise(found))


@pytest.mark.skipif(not has_icu(), reason="needs ICU")
@given(text=TEXTS)
def test_no_cut_parts_a_character_of_icu(text: str) -> None:
    from icu4py.breakers import CharacterBreaker

    ends, at = {0}, 0
    for character in CharacterBreaker(text, "und"):
        at += len(character)
        ends.add(at)
    longest = max((end - start for start, end in pairwise(sorted(ends))), default=0)
    if longest < 32:
        assert {end for _, end in clusters(text)} <= ends


def test_a_beginning_ends_with_a_whole_character() -> None:
    assert beginning("short", 100) == "short"
    assert beginning("abcdef", 3) == "abc…"
    assert beginning("ab👩‍👩‍👧cd", 3) == "ab…"
    assert beginning("cafe\u0301s", 4) == "caf…"
    assert beginning("a\n\n b c", 4) == "a…"
    assert beginning("e" + "\u0301" * 500, 100).startswith("e\u0301")


@given(text=TEXTS)
def test_the_words_of_a_text_are_those_that_are_indexed(text: str) -> None:
    found = list(written_words(text))
    assert [one.word for one in found] == [word for word in tokens.indexed_text(text).split() if word not in MARKERS]
    assert all(0 <= one.start < one.end <= len(text) for one in found)
