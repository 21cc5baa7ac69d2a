"""The index of facts finds the same contradictions and similar facts as comparing with every fact."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.learning.comparison import contradiction
from robotmem_ros.memory.text.statement import jaccard, statement

from ...support.examples import examples
from ..conftest import OpenMemory

PLAIN = ["robot", "shelf", "gate", "crate", "hose", "rope", "lid", "cart", "lamp", "drum", "sack", "tube"]
CLAIMS = ["3 N", "7 N", "not", "works", "fails", "left", "red"]
WORDS = [first + second for first in ("ka", "lo", "mi", "ru", "tan", "vek") for second in ("sil", "dor", "pim", "zu")]
TEXTS = st.lists(st.sampled_from([*PLAIN, *CLAIMS]), min_size=1, max_size=10).map(" ".join)


@pytest.mark.slow
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None)
@given(texts=st.lists(TEXTS, max_size=25))
def test_the_linked_contradictions_are_those_of_comparing_with_every_fact(texts: Sequence[str]) -> None:
    with RobotMemory(":memory:", embedding_model="", deduplication="off") as memory:
        kept: dict[int, str] = {}
        for moment, text in enumerate(texts, start=1):
            learned = memory.learn(text, observed_at=moment)
            stated = statement(text)
            expected = [other for other, known in kept.items() if contradiction(statement(known), stated, 0.70)]
            assert list(learned.contradicts) == expected
            kept[learned.memory_id] = text


@pytest.mark.slow
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck), deadline=None)
@given(texts=st.lists(TEXTS | st.lists(st.sampled_from(WORDS), min_size=15, max_size=60).map(" ".join), max_size=25))
def test_the_linked_similar_facts_are_those_of_comparing_with_every_fact(texts: Sequence[str]) -> None:
    with RobotMemory(":memory:", embedding_model="", deduplication="off") as memory:
        kept: dict[int, str] = {}
        for text in texts:
            learned = memory.learn(text)
            if text not in kept.values():
                assert list(learned.similar_ids) == _most_similar(text, kept)
            kept[learned.memory_id] = text


def test_words_that_tell_of_two_states_are_as_similar_as_others(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    first = memory.learn("Carry the samples from the lab to the ward").memory_id
    assert memory.learn("From the lab, carry the samples to the ward").similar_ids == (first,)


def test_the_most_similar_of_many_long_facts_are_linked(open_memory: OpenMemory) -> None:
    memory, dice = open_memory(embedder=None, embedding_model=""), random.Random(4)
    words = [f"{one}{other}" for one in WORDS for other in ("ban", "gol", "fer")]
    base = dice.sample(words, 50)
    kept: dict[int, str] = {}
    for _ in range(100):
        text = " ".join(dice.sample(words, 1)[0] if dice.random() < 0.1 else word for word in base)
        learned = memory.learn(text)
        assert list(learned.similar_ids) == _most_similar(text, kept)
        kept[learned.memory_id] = text


def _most_similar(text: str, kept: Mapping[int, str]) -> list[int]:
    terms = statement(text).terms
    measured = {one: round(jaccard(terms, statement(other).terms), 6) for one, other in kept.items()}
    similar = [one for one, similarity in measured.items() if similarity >= 0.70]
    return sorted(similar, key=lambda one: (-measured[one], -one))[:16]


def test_a_fact_is_linked_with_the_64_newest_that_it_contradicts(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    ids = [memory.learn(f"Hold the jar of Anna with {force} N", observed_at=force).memory_id for force in range(1, 201)]
    assert memory.learn("With 500 N hold the jar of Anna", observed_at=500).contradicts == tuple(ids[-64:])
    contradicted = [one.memory.contradicted_by for one in memory.recall("jar of Anna", n=100)]
    assert contradicted.count(0) == 1  # each older one is marked, by the newest that is linked with it


def test_forgotten_facts_take_no_place_among_the_candidates(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    kept = memory.learn("Hold the jar of Anna with 1 N").memory_id
    for force in range(2, 90):
        memory.forget(memory.learn(f"Hold the jar of Anna with {force} N").memory_id, "a test")
    assert memory.learn("Hold the jar of Anna with 90 N").contradicts == (kept,)
    memory.restore(2)
    assert memory.learn("Hold the jar of Anna with 91 N").contradicts == (kept, 2, 90)
