"""What a memory gains from its session, and what its session tells of its meaning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.search.session_context import (
    InSession,
    cosines_in_session,
    gains_in_session,
    neighbors_of_best,
    read_places,
)
from robotmem_ros.memory.search.vector_search import VectorSearch
from robotmem_ros.memory.table.table import Table
from robotmem_ros.memory.table.view import View

from ...support.embedders import WordVectors
from ..conftest import OpenMemory

WITHOUT = {"session_neighbor_weight": 0.0, "session_weight": 0.0, "session_vector_weight": 0.0}
SCORES = st.dictionaries(st.integers(1, 12), st.floats(0, 10), max_size=12)
SESSIONS = st.lists(st.sampled_from("ab"), min_size=12, max_size=12)


def places_of(sessions: list[str]) -> dict[int, InSession]:
    """Where memories 1, 2, ... of these sessions stand."""
    places = {}
    for memory_id, session in enumerate(sessions, start=1):
        ids = [one for one, other in enumerate(sessions, start=1) if other == session]
        at = ids.index(memory_id)
        places[memory_id] = InSession(session, tuple(ids[max(at - 2, 0) : at][::-1]), tuple(ids[at + 1 : at + 3]))
    return places


def above_half(scores: Mapping[int, float], memory_id: int) -> float:
    """What a score has above half of the best one."""
    return max(scores.get(memory_id, 0.0) - max(scores.values()) / 2, 0.0)


@given(scores=SCORES, sessions=SESSIONS, weight=st.floats(0, 1))
def test_a_memory_gains_a_share_of_its_best_neighbour(
    scores: dict[int, float], sessions: list[str], weight: float
) -> None:
    places = {one: place for one, place in places_of(sessions).items() if one in scores}
    gains = gains_in_session(scores, places, Parameters(session_neighbor_weight=weight))[0].values
    assert gains.keys() == places.keys()
    for memory_id, place in places.items():
        near = [above_half(scores, one) for side in (place.before, place.after) for one in side[:1]]
        far = [above_half(scores, one) / 2 for side in (place.before, place.after) for one in side[1:]]
        assert gains[memory_id] == pytest.approx(weight * max([*near, *far, 0.0]))


@given(scores=SCORES, sessions=SESSIONS, weight=st.floats(0, 1))
def test_a_memory_gains_a_share_of_the_three_best_of_its_session(
    scores: dict[int, float], sessions: list[str], weight: float
) -> None:
    places = {one: place for one, place in places_of(sessions).items() if one in scores}
    gains = gains_in_session(scores, places, Parameters(session_weight=weight))[1].values
    for memory_id, place in places.items():
        found = sorted(above_half(scores, one) for one, other in places.items() if other.session == place.session)
        assert gains[memory_id] == pytest.approx(weight * math.fsum(found[-3:]) / 3)


def test_places_are_those_of_the_session_and_withdrawn_memories_keep_theirs(open_memory: OpenMemory) -> None:
    memory = open_memory(deduplication="off")
    for session in ("patrol", "other", "patrol", "", "patrol", "patrol"):
        memory.learn("a text", session_id=session)
    memory.forget(3, "wrong")
    with memory.parts.database.snapshot() as snapshot:
        assert read_places(snapshot, [1, 2, 4, 6]) == {
            1: InSession("patrol", (), (3, 5)), 2: InSession("other", (), ()), 6: InSession("patrol", (5, 3), ()),
        }  # fmt: skip
        assert neighbors_of_best(snapshot, {1: 1.0, 3: 0.9, 4: 0.8}) == {5, 6}


def test_the_meaning_in_a_session_is_that_of_the_sum_of_the_vectors_if_it_is_nearer(open_memory: OpenMemory) -> None:
    embedder = WordVectors()
    memory = open_memory(embedder=embedder)
    texts = ("the pump leaks", "oil below the pump", "then the valve was closed", "alone")
    for text in texts:
        memory.learn(text, session_id="" if text == "alone" else "repair")
    memory.flush()
    query = embedder.embed_one("pump valve")
    first, second, third, alone = map(embedder.embed_one, texts)
    with memory.parts.database.snapshot() as snapshot:
        ids, before = [1, 2, 3, 4], np.full(4, 0.75)
        places = read_places(snapshot, ids)
        search = VectorSearch(View(Table.empty(), snapshot), lambda: query)
        measured = cosines_in_session(search, ids, before, places, 0.3)
        assert cosines_in_session(search, ids, before, places, 0.0) is before
        assert cosines_in_session(search, [1], before[:1], places, 0.3).tolist() == [0.75]
    sums = {1: first, 2: second + 0.3 * first, 3: third + 0.3 * (second + first), 4: alone}
    alone_or_not = {one: (vector, sums[one]) for one, vector in enumerate((first, second, third, alone), start=1)}
    expected = {
        one: min(1 - float(query @ total) / float(np.linalg.norm(total)) for total in both)
        for one, both in alone_or_not.items()
    }
    assert dict(zip(ids, (1 - measured).tolist(), strict=True)) == pytest.approx(expected, abs=1e-3)


@given(texts=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["red mug", "blue chair", ""])), min_size=2))
@settings(max_examples=30)
def test_equal_sums_of_vectors_are_equally_near(texts: list[tuple[str, str]]) -> None:
    embedder = WordVectors(dim=384)
    with RobotMemory(":memory:", embedder=embedder, embedding_model="", deduplication="off") as memory:
        for session, text in texts:
            memory.learn(text or "a long green table", session_id=session)
        memory.flush()
        query = embedder.embed_one("red table")
        with memory.parts.database.snapshot() as snapshot:
            ids = list(range(1, len(texts) + 1))
            places = read_places(snapshot, ids)
            search = VectorSearch(View(Table.empty(), snapshot), lambda: query)
            measured = cosines_in_session(search, ids, np.ones(len(ids)), places, 0.3)
    by_directions: dict[tuple[str, frozenset[tuple[str, Fraction]]], set[float]] = {}
    for memory_id, cosine in zip(ids, measured.tolist(), strict=True):
        own = texts[memory_id - 1][1]
        tenths = Counter(10 * [own] + 3 * [texts[one - 1][1] for one in places[memory_id].before])
        direction = frozenset((text, Fraction(tenth, tenths.total())) for text, tenth in tenths.items())
        by_directions.setdefault((own, direction), set()).add(cosine)
    assert all(len(cosines) == 1 for cosines in by_directions.values())


def test_a_text_that_a_session_repeats_is_found_newest_first(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=WordVectors(), deduplication="off", session_neighbor_weight=0.0)
    for _ in range(8):
        memory.learn("the valve leaks", session_id="patrol")
    memory.flush()
    assert [one.id for one in memory.recall("valve", n=8, fold=False)] == [8, 7, 6, 5, 4, 3, 2, 1]


def test_what_stands_beside_the_best_is_found_under_the_conditions_though_no_search_finds_it(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory(deduplication="off")
    for number in range(60):
        memory.learn(f"suitcase seen{number} among{number} other{number} things{number} here{number}")
    before = memory.learn("heavy", session_id="visit").memory_id
    memory.learn("Beate Huber took blue suitcase upstairs", session_id="visit")
    uncertain = memory.learn("lift", session_id="visit", confidence=0.2).memory_id
    memory.flush()
    query = "Beate Huber took blue suitcase upstairs quickly"
    found = {one.id for one in memory.recall(query, n=10)}
    assert (before in found, uncertain in found) == (True, False)
    assert {before, uncertain} <= {one.id for one in memory.recall(query, min_confidence=0.0, n=10)}
    memory.parameters = memory.parameters.changed(**WITHOUT)
    assert not {before, uncertain} & {found.id for found in memory.recall(query, min_confidence=0.0, n=10)}


def test_by_words_alone_a_neighbour_need_not_share_one(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="", deduplication="off")
    for text in ("Beate took the suitcase", "it was heavy", "so I carried it", "the lift was broken"):
        memory.learn(text, session_id="visit")
    memory.learn("a suitcase stands in the hall")
    found = {one.id: one.score for one in memory.recall("where is the suitcase of Beate")}
    assert list(found) == [1, 5, 2, 3]
    assert found[2] > found[3]


def test_of_two_equal_matches_the_neighbour_of_another_match_comes_first(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="", deduplication="off")
    beside = memory.learn("the valve leaks", session_id="patrol").memory_id
    memory.learn("the valve and the pump leak oil near the pump", session_id="patrol")
    alone = memory.learn("the valve leaks", session_id="round").memory_id
    order = [found.id for found in memory.recall("which pump and valve leak oil", fold=False)]
    assert order.index(beside) < order.index(alone)
    memory.parameters = memory.parameters.changed(**WITHOUT)
    order = [found.id for found in memory.recall("which pump and valve leak oil", fold=False)]
    assert order.index(alone) < order.index(beside)


def test_by_ranks_alone_the_session_gives_nothing(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="", deduplication="off", fusion="rrf")
    for text in ("the valve leaks", "the valve and the pump leak", "the pump leaks"):
        memory.learn(text, session_id="patrol")
    found = {one.id: one.score for one in memory.recall("pump and valve")}
    assert found == pytest.approx({2: 1.0, 3: 61 / 62, 1: 61 / 63})


def test_a_forgotten_neighbour_tells_nothing_any_more(real_memory: RobotMemory) -> None:
    told = real_memory.learn("The coffee machine in the kitchen is broken", session_id="morning").memory_id
    asked = real_memory.learn("I called the technician about it", session_id="morning").memory_id
    other = real_memory.learn("I called a technician about it", session_id="evening").memory_id
    real_memory.flush()
    assert [one.id for one in real_memory.recall("who repairs the coffee machine")] == [told, asked, other]
    real_memory.forget(told, "repaired")
    scores = {one.id: one.score for one in real_memory.recall("who repairs the coffee machine")}
    real_memory.parameters = real_memory.parameters.changed(session_vector_weight=0.0)
    assert {one.id: one.score for one in real_memory.recall("who repairs the coffee machine")} == pytest.approx(
        scores, abs=1e-5
    )
