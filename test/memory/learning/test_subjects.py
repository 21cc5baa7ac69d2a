"""The index of subjects finds what comparing with every fact does, whatever the words and the threshold."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.learning.contradiction import contradiction
from robotmem_ros.memory.learning.store_or_merge import Limits, same_lesson
from robotmem_ros.memory.models import Kind, NewMemory
from robotmem_ros.memory.storage import Database, rows, subject_rows
from robotmem_ros.memory.text.statement import wording
from robotmem_ros.memory.text.subject import subject

from ..conftest import OpenMemory

PLAIN = ["robot", "shelf", "gate", "crate", "hose", "rope", "lid", "cart", "lamp", "drum", "sack", "tube"]
CLAIMS = ["3 N", "7 N", "not", "works", "fails", "left", "red"]
TEXTS = st.lists(st.sampled_from([*PLAIN, *CLAIMS]), min_size=1, max_size=10).map(" ".join)
SHARES = [0.0, 0.3, 0.5, 0.7, 0.75, 0.8, 1.0]


def one_sided_share(one: str, other: str, shared: int) -> float:
    """Jaccard similarity of the words where one has all words of the other, else -1."""
    left, right = wording(one).words, wording(other).words
    if wording(one).names != wording(other).names or not (left <= right or right <= left):
        return -1.0
    return (len(left & right) + shared) / (len(left | right) + shared)


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=25),
    asked=TEXTS,
    shared=st.integers(0, 4),
    share=st.sampled_from(SHARES),
)
def test_all_subjects_that_are_near_are_found_and_no_others(
    texts: Sequence[str], asked: str, shared: int, share: float
) -> None:
    database = Database(Parameters(db_path=":memory:"))
    for text in texts:
        new = NewMemory(Kind.FACT, text, "default", 1, "map", "")
        database.write(lambda connection, new=new: rows.insert(connection, new)).result()  # type: ignore[misc]
    mine = subject("default", asked)
    with database.reader() as connection:
        found = subject_rows.near(connection, mine, shared=shared, similarity=share)
    database.close()
    expected = {
        subject("default", text).id
        for text in texts
        if wording(text).words and one_sided_share(asked, text, shared) >= share - 1e-9
    }
    assert {one.id for one in found} - {mine.id} == (expected - {mine.id} if mine.words else set())
    assert len(found) == len({one.id for one in found})


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(texts=st.lists(TEXTS, max_size=25))
def test_just_the_contradictions_are_linked_that_comparing_with_all_finds(texts: Sequence[str]) -> None:
    with RobotMemory(":memory:", embedding_model="", deduplicate=False) as memory:
        kept: dict[int, str] = {}
        for moment, text in enumerate(texts, start=1):
            learned = memory.learn(text, observed_at=moment)
            expected = [other for other, known in kept.items() if contradiction(wording(known), wording(text), 0.70)]
            assert list(learned.contradicts) == expected
            kept[learned.memory_id] = text


@pytest.mark.parametrize("seed", range(3))
def test_among_hundreds_of_facts_of_the_same_words_no_duplicate_is_missed(seed: int, open_memory: OpenMemory) -> None:
    chance, limits = random.Random(seed), Limits(0.70, 0.85)
    memory = open_memory(embedder=None, embedding_model="")
    kept: dict[int, str] = {}
    found = 0
    for _ in range(400):
        text = " ".join(chance.sample(PLAIN, chance.randint(4, 9)))
        matches = (same_lesson(wording(text), wording(known), None, limits) for known in kept.values())
        alike = [match for match in matches if match]
        learned = memory.learn(text)
        assert learned.is_new == (not alike)
        if learned.is_new:
            kept[learned.memory_id] = text
        else:
            found += 1
            assert learned.similarity == pytest.approx(max(match.similarity for match in alike), abs=1e-6)
    assert found > 20


def test_of_many_values_of_one_thing_the_newest_are_linked(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    ids = [memory.learn(f"Hold the jar of Anna with {force} N", observed_at=force).memory_id for force in range(1, 201)]
    assert memory.learn("With 500 N hold the jar of Anna", observed_at=500).contradicts == tuple(ids[-64:])
    contradicted = [one.contradicted_by for one in memory.recall("jar of Anna", n=100)]
    assert contradicted.count(0) == 1  # each older one is marked, by the newest that is linked with it


def test_withdrawn_facts_do_not_stand_before_active_ones(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    kept = memory.learn("Hold the jar of Anna with 1 N").memory_id
    for force in range(2, 90):
        memory.forget(memory.learn(f"Hold the jar of Anna with {force} N").memory_id, "a test")
    assert memory.learn("Hold the jar of Anna with 90 N").contradicts == (kept,)
    memory.restore(2)
    assert memory.learn("Hold the jar of Anna with 91 N").contradicts == (kept, 2, 90)
