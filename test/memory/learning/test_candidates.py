"""The index of facts finds the same contradictions as comparing with every fact."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.learning.contradiction import contradiction
from robotmem_ros.memory.text.statement import statement

from ..conftest import OpenMemory

PLAIN = ["robot", "shelf", "gate", "crate", "hose", "rope", "lid", "cart", "lamp", "drum", "sack", "tube"]
CLAIMS = ["3 N", "7 N", "not", "works", "fails", "left", "red"]
TEXTS = st.lists(st.sampled_from([*PLAIN, *CLAIMS]), min_size=1, max_size=10).map(" ".join)


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
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


def test_a_fact_is_linked_with_the_64_newest_that_it_contradicts(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    ids = [memory.learn(f"Hold the jar of Anna with {force} N", observed_at=force).memory_id for force in range(1, 201)]
    assert memory.learn("With 500 N hold the jar of Anna", observed_at=500).contradicts == tuple(ids[-64:])
    contradicted = [one.contradicted_by for one in memory.recall("jar of Anna", n=100)]
    assert contradicted.count(0) == 1  # each older one is marked, by the newest that is linked with it


def test_forgotten_facts_take_no_place_among_the_candidates(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    kept = memory.learn("Hold the jar of Anna with 1 N").memory_id
    for force in range(2, 90):
        memory.forget(memory.learn(f"Hold the jar of Anna with {force} N").memory_id, "a test")
    assert memory.learn("Hold the jar of Anna with 90 N").contradicts == (kept,)
    memory.restore(2)
    assert memory.learn("Hold the jar of Anna with 91 N").contradicts == (kept, 2, 90)
