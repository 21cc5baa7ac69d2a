"""Snippets: the best part of a text, with the words of the query marked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, RobotMemory
from robotmem_ros.memory.search.result import LENGTH, snippet
from robotmem_ros.memory.text import tokens


def cut(text: str, query: str) -> str:
    return snippet(text, dict.fromkeys(tokens.query_words(query), 1.0))


def unmarked(shown: str) -> tuple[str, list[str]]:
    """Return what a snippet shows, and what is marked in it, as its reader does."""
    parts = [""]
    for piece in re.findall(r"(?s)\\.|\*\*|.", shown):
        if piece == "**":
            parts.append("")
        else:
            parts[-1] += piece[1:] if len(piece) == 2 else piece
    return "".join(parts), parts[1::2]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("The robot's red mugs are at dock A, 12.5 N", "red mug at dock A, 12.5", ["red", "mugs", "dock", "A", "12.5"]),
        ("红色的杯子在三号桌子上", "杯子 3号", ["杯子", "三号"]),
        ("Cafe\u0301 Stra\u00dfe", "café strasse", ["Cafe\u0301", "Stra\u00dfe"]),
        ("l'atelier, room3, the 3rd", "atelier room 3", ["atelier", "room3", "3rd"]),
        ("コンピューターが壊れた", "コンピュータ", ["コンピュータ"]),
        ("a *bold* \\ path **red** mug", "bold red", ["bold", "red"]),
        ("nothing of it", "mug", []),
        ("", "mug", []),
    ],
)
def test_the_words_of_the_query_are_marked_as_recall_matches_them(text: str, query: str, marked: list[str]) -> None:
    assert unmarked(cut(text, query)) == (text, marked)


def test_a_long_text_is_cut_where_the_query_is_spoken_of() -> None:
    text = f"the mug {'and more words ' * 30}a red mug on the table {'and other words ' * 30}"
    shown, marked = unmarked(cut(text, "red mug"))
    assert marked == ["red", "mug"]
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert shown.strip("…") in text
    assert len(shown) <= LENGTH + 2
    assert text[text.index(shown.strip("…")) - 1] == " "


def test_the_rarer_word_decides_where() -> None:
    text = f"a red mug {'x ' * 200} a zither {'x ' * 200}"
    assert "**zither**" in snippet(text, {"red": 1.0, "mug": 1.0, "zither": 9.0})


def test_it_is_one_line() -> None:
    assert cut("first\n\n  the\tmug", "mug") == "first the **mug**"


WORDS = ["red", "mugs", "**", "*", "\\", "杯子", "e\u0301", "👩‍👩‍👧", "𝟛", " ", "\n", "ไก่", "1.5", "A"]


@given(text=st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=80).map("".join), length=st.integers(1, 60))
def test_a_snippet_is_a_part_of_the_text_whatever_is_in_it(text: str, length: int) -> None:
    weights = dict.fromkeys(tokens.query_words("red mug 杯子 é 1.5 dock A"), 1.0)
    shown, _ = unmarked(snippet(text, weights, length))
    inner = shown.removeprefix("…").removesuffix("…") if len(text) > length else shown
    assert inner.strip() in re.sub(r"\s+", " ", text)


def test_a_brief_result_has_what_the_full_one_has(memory: RobotMemory) -> None:
    memory.learn("a glass needs 12.5 N")
    memory.save_perception("a red mug on the table", label="mug", pose=(3, 0, 0))
    result = memory.recall("where is the red mug?", spatial_sort={"target": [0, 0, 0]})
    (brief,), (full,) = result.brief(), result
    assert brief.snippet == "a **red** **mug** on the table"
    assert (brief.id, brief.kind, brief.observed_at) == (full.id, Kind.PERCEPTION, full.memory.observed_at)
    assert (brief.score, brief.relevance, brief.distance) == (full.score, full.relevance, 3.0)
    assert (brief.label, brief.pose, brief.frame_id, brief.collection) == ("mug", full.memory.pose, "map", "default")


def test_without_a_query_nothing_is_marked(memory: RobotMemory) -> None:
    memory.learn("a glass needs 12.5 N")
    assert [one.snippet for one in memory.recall(kinds="fact").brief()] == ["a glass needs 12.5 N"]
