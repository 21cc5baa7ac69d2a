"""The SQL functions behind the triggers and searches."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.database.functions import (
    context_leaves,
    context_positions,
    cosine_distance,
    distinct_words,
    holds_words,
    missing_sqlite_vec,
    register,
    word_count,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    """A connection that knows the functions."""
    opened = sqlite3.connect(":memory:")
    register(opened)
    yield opened
    opened.close()


@given(seed=st.integers(0, 2**32 - 1), dim=st.sampled_from((1, 2, 3, 8, 31, 384, 1024)))
def test_numpy_and_sqlite_vec_give_the_same_cosine_distance(
    connection: sqlite3.Connection, seed: int, dim: int
) -> None:
    assert missing_sqlite_vec(connection) == ""
    draw = np.random.default_rng(seed)
    a, b = draw.standard_normal((2, dim)).astype(np.float32)
    by_vec = connection.execute("SELECT vec_distance_cosine(?, ?)", (a.tobytes(), b.tobytes())).fetchone()[0]
    exact = 1 - float(np.dot(a.astype(float), b.astype(float)) / np.linalg.norm(a.astype(float)) / np.linalg.norm(b))
    assert cosine_distance(a.tobytes(), b.tobytes()) == pytest.approx(exact, abs=2e-6)
    assert by_vec == pytest.approx(exact, abs=2e-6)


def test_leaves_are_addressed_by_dot_paths() -> None:
    context = {"a": {"b": 1, "c": {"d": None}}, "e": [1, {"f": 2}], "": 3, "g.h": 4, "i": {}, "名": "字"}
    assert json.loads(context_leaves(json.dumps(context))) == {
        "a": {}, "a.b": 1, "a.c": {}, "a.c.d": None, "e": [], "i": {}, "名": "字",
    }  # fmt: skip
    assert context_leaves("[1, 2]") == "{}"


def test_positions_are_arrays_of_two_or_three_numbers_under_spatial() -> None:
    spatial = {
        "two": [1, 2], "three": [1.5, -2, 3], "deep": {"er": [0, 0]}, "one": [1], "four": [1, 2, 3, 4],
        "text": ["1", "2"], "bool": [True, 1], "null": [None, 1], "nested": [[1, 2], [3, 4]], "a.b": [1, 2],
    }  # fmt: skip
    found = json.loads(context_positions(json.dumps({"spatial": spatial, "other": [1, 2]})))
    assert found == {"spatial.two": [1, 2], "spatial.three": [1.5, -2, 3], "spatial.deep.er": [0, 0]}
    for context in ("[]", "{}", '{"spatial": [1, 2]}', '{"spatial": null}'):
        assert context_positions(context) == "{}"


def test_words_of_indexed_texts_are_counted_and_compared() -> None:
    texts = ("red mug", "", "mug 杯子")
    assert json.loads(distinct_words(*texts)) == ["mug", "red", "杯子"]
    assert word_count(*texts) == 4
    assert holds_words("mug 杯子", *texts)
    assert not holds_words("mug blue", *texts)
    assert not holds_words("mu", *texts)
