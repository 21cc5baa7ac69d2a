"""Stems of words are those of the stemmer of SQLite."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.text.stemmer import stem

SYLLABLES = ("gr", "asp", "e", "r", "at", "ion", "bl", "ing", "ed", "iz", "y", "s", "ss", "ies", "al", "iv", "ness",
             "ll", "ful", "ment", "abl", "log", "i", "ous", "eed", "t", "o", "ca", "m")  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("mug", "mugs"), "mug"),
        (("grasp", "grasps", "grasped", "grasping"), "grasp"),
        (("carry", "carries", "carried", "carrying"), "carri"),
        (("slip", "slips", "slipped", "slipping"), "slip"),
        (("localize", "localized", "localization"), "local"),
        (("connect", "connection", "connective"), "connect"),
        (("12v", "杯子", "café", "x"), None),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...], expected: str | None) -> None:
    assert [stem(word) for word in words] == [expected or word for word in words]


@given(word=st.lists(st.sampled_from(SYLLABLES), min_size=2, max_size=7).map("".join))
def test_stems_are_those_of_sqlite(word: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(x, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab('f', 'row')")
    connection.execute("INSERT INTO f VALUES (?)", (word,))
    (expected,) = connection.execute("SELECT term FROM v").fetchone()
    connection.close()
    # Of words that are nothing but an ending, SQLite leaves less.
    assert stem(word) == expected or len(word) < 5 or word.startswith(("eed", "ies"))
