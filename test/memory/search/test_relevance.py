"""Relevance: comparable from query to query, and the least that a result must have."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.embedding.profile import Profile
from robotmem_ros.memory.search import scoring
from robotmem_ros.memory.search.result import Mode

from ...support.embedders import WordVectors

relevance = partial(scoring.relevance, curve=Profile().curve, memories=1000)
SHARES = st.floats(0, 1)
COSINES = st.floats(-1, 1)


@given(COSINES, SHARES, st.floats(0, 1))
def test_relevance_grows_with_cosine_and_share(cosine: float, share: float, more: float) -> None:
    least = relevance(cosine, share)
    assert 0 < least < 1
    assert relevance(cosine + more, share) >= least
    assert relevance(cosine, share + more) >= least
    assert relevance(math.nan, share + more) >= relevance(math.nan, share) >= 0


def test_relevance_is_the_documented_formula() -> None:
    assert relevance(math.nan, 0.0) == 0.0
    assert relevance(0.6, 0.5) == pytest.approx(1 / (1 + math.exp(-(7.3 * 0.6 + 3.1 * 0.125 - 4.1))))
    assert relevance(math.nan, 1.0) == pytest.approx(1 / (1 + math.exp(-(7.3 - 1.7))))


@given(COSINES, SHARES, st.integers(60, 10**7), st.integers(0, 10**6))
def test_a_cosine_counts_less_the_more_memories_may_be_near_by_chance(
    cosine: float, share: float, memories: int, more: int
) -> None:
    chance = 0.097 * (math.sqrt(2 * math.log(memories)) - math.sqrt(2 * math.log(1000)))
    assert relevance(cosine, share, memories=memories) == pytest.approx(relevance(cosine - chance, share))
    assert relevance(cosine, share, memories=memories + more) <= relevance(cosine, share, memories=memories)
    assert relevance(cosine, share, memories=0) == relevance(cosine, share, memories=60)
    assert relevance(math.nan, share, memories=memories) == relevance(math.nan, share)


@given(COSINES, SHARES)
def test_a_cosine_counts_less_if_no_memory_contains_a_word_of_the_query(cosine: float, share: float) -> None:
    assert relevance(cosine, share, is_unknown=True) == pytest.approx(relevance(cosine - 0.035, share))
    assert relevance(math.nan, 0.0, is_unknown=True) == 0.0


@pytest.fixture
def memory(tmp_path: Path) -> RobotMemory:
    """Three facts, without a model."""
    made = RobotMemory(tmp_path / "memory.db", embedding_model="")
    made.learn("the red mug stands on the shelf above the sink")
    made.learn("dock B is blocked by a pallet")
    made.learn("the gripper slips on wet glass")
    return made


def test_a_query_that_nothing_answers_returns_nothing_and_the_reason(memory: RobotMemory) -> None:
    with memory:
        found = memory.recall("zebra xylophone quantum shelf", min_relevance=0.2)
        assert found.memories == ()
        assert found.mode is Mode.BM25_ONLY
        assert "nothing relevant: the best memory has relevance 0.1" in found.reason
        assert "less than min_relevance 0.2" in found.reason


def test_a_lower_bound_returns_it_after_all(memory: RobotMemory) -> None:
    with memory:
        (found,) = memory.recall("zebra xylophone quantum shelf", min_relevance=0.1)
        assert found.relevance < 0.2
        assert found.score == 1.0


@pytest.mark.parametrize("way", ["parameter", "argument"])
def test_zero_returns_whatever_there_is(memory: RobotMemory, way: str) -> None:
    with memory:
        if way == "parameter":
            assert not memory.recall("zebra quantum")
            memory.parameters = replace(memory.parameters, min_relevance=0.3)
            assert not memory.recall("zebra quantum shelf")
            memory.parameters = replace(memory.parameters, min_relevance=0.0)
            assert len(memory.recall("zebra quantum shelf")) == 1
        else:
            assert len(memory.recall("zebra quantum shelf", min_relevance=0.0)) == 1


def test_the_bound_is_that_of_the_best_result(memory: RobotMemory) -> None:
    with memory:
        found = memory.recall("red mug on the wet shelf", min_relevance=0.5)
        assert [one.relevance >= 0.5 for one in found] == [True, False]


def test_without_words_nothing_is_left_out(memory: RobotMemory) -> None:
    with memory:
        found = memory.recall(kinds=["fact"], min_relevance=1.0)
        assert len(found) == 3
        assert {one.relevance for one in found} == {1.0}
        assert all(math.isnan(one.similarity) and one.matched_terms == () for one in found)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "high", True])
def test_a_bound_outside_of_its_range_is_refused(memory: RobotMemory, value: Any) -> None:
    with memory, pytest.raises(InvalidFieldError, match="min_relevance"):
        memory.recall("red mug", min_relevance=value)


def test_matched_terms_are_spelled_as_in_the_query(memory: RobotMemory) -> None:
    with memory:
        (found,) = memory.recall("Where are the Mugs on a SHELF, or the red zebra's?", min_relevance=0.0)
        assert found.matched_terms == ("Mugs", "SHELF", "red")


def test_words_of_the_errand_ask_for_nothing(memory: RobotMemory) -> None:
    with memory:
        (plain,), (errand,) = memory.recall("red mug"), memory.recall("please find the nearest red mug")
        assert plain.relevance == errand.relevance > 0.9


def test_words_that_no_memory_holds_count(memory: RobotMemory) -> None:
    with memory:
        queries = ("mug", "mug zebra", "mug zebra quantum")
        found = [memory.recall(query, min_relevance=0.0)[0].relevance for query in queries]
        assert all(one > next_one for one, next_one in itertools.pairwise(found))


def test_a_memory_is_less_relevant_among_many_of_its_collections_alone(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "m.db", embedder=WordVectors(), embedding_model="") as memory:
        memory.learn("red mug")
        memory.flush()

        def relevance_now() -> float:
            return memory.recall("red mug zebra", min_relevance=0.0)[0].relevance

        alone = relevance_now()
        memory.save_many([{"description": f"blue chair {number}", "collection": "lab"} for number in range(300)])
        memory.flush()
        assert relevance_now() == alone
        memory.save_many([f"blue chair {number}" for number in range(300)])
        memory.flush()
        assert relevance_now() < alone - 0.01


@pytest.mark.parametrize("fusion", ["scores", "rrf"])
def test_relevance_does_not_depend_on_the_other_memories_nor_on_the_fusion(tmp_path: Path, fusion: str) -> None:
    with RobotMemory(tmp_path / "m.db", embedder=WordVectors(), embedding_model="", fusion=fusion) as memory:
        memory.learn("red mug")
        memory.flush()
        (alone,) = memory.recall("red mug")
        for number in range(20):
            memory.learn(f"blue chair {number}")
        memory.flush()
        assert memory.recall("red mug")[0].relevance == pytest.approx(alone.relevance, abs=1e-6)
        assert alone.similarity == pytest.approx(1.0, abs=1e-6)
        assert alone.relevance > 0.99


def test_the_nearest_of_what_does_not_match_is_not_named(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "m.db", embedder=WordVectors(), embedding_model="") as memory:
        for x, label in enumerate(("mug", "chair", "plant")):
            memory.save_perception(f"a {label}", label=label, pose=(float(x), 0.0, 0.0))
        memory.flush()
        near = {"target": [0.0, 0.0, 0.0]}
        nothing = memory.recall("zebra xylophone", spatial_sort=near, min_relevance=0.6)
        assert not nothing
        assert "nothing relevant" in nothing.reason
        assert [one.memory.label for one in memory.recall("chair", spatial_sort=near)] == ["chair"]
        assert len(memory.recall("", spatial_sort=near, min_relevance=1.0)) == 3
