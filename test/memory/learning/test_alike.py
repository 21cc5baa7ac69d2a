"""Facts with common terms are those of comparing with every fact, however much of the file the index has taken in."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.learning.alike import FactIndex
from robotmem_ros.memory.storage.fact_index import CANDIDATES
from robotmem_ros.memory.storage.followers import feed
from robotmem_ros.memory.text.statement import jaccard, statement

WORDS = ("mug", "lamp", "shelf", "door", "grip", "12 N", "15 N", "slipped", "worked", "not", "kitchen")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=25)
SIMILARITY = 0.7


def expected(texts: dict[int, str], query: str) -> list[int]:
    """The ids by brute force: those that lack the fewest terms first, of equal ones the newest."""
    asked = statement(query)

    def is_similar(text: str) -> bool:
        stated = statement(text)
        smaller, larger = sorted((asked.words, stated.words), key=len)
        has_subject = smaller <= larger and len(smaller) >= SIMILARITY * len(larger) - 1e-9
        by_terms = jaccard(asked.terms, stated.terms) >= SIMILARITY - 1e-9
        return bool(asked.terms & stated.terms) and (by_terms or has_subject)

    similar = [number for number, text in texts.items() if is_similar(text)]
    return sorted(similar, key=lambda number: (len(asked.terms - statement(texts[number]).terms), -number))


def ids(memory: RobotMemory, index: FactIndex, query: str) -> list[int]:
    """The ids that an index finds."""
    with memory.parts.database.snapshot() as snapshot:
        facts = index.now(snapshot).find(snapshot, "default", query, similarity=SIMILARITY)
    return [fact.id for fact in facts]


@given(TEXTS, TEXTS, st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_as_brute_force_finds_them(first: Sequence[str], then: Sequence[str], data: st.DataObject) -> None:
    with RobotMemory(":memory:", embedding_model="", deduplication="off") as memory:
        often, once, never = FactIndex(), FactIndex(), FactIndex()
        texts = {}
        for number, text in enumerate((*first, *then)):
            texts[memory.learn(text).memory_id] = text
            if data.draw(st.booleans()):
                feed(memory.parts.database, often)
            if number == len(first):
                feed(memory.parts.database, once)
        for changed in data.draw(st.lists(st.sampled_from(sorted(texts)), unique=True, max_size=5)):
            if data.draw(st.booleans()):
                memory.forget(changed, reason="it is not so")
                del texts[changed]
            else:
                text = texts[changed] = " ".join(data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)))
                memory.update(changed, text)
        for query in (*first[:3], "mug lamp shelf 12 N"):
            right = expected(texts, query)[:CANDIDATES]
            assert [ids(memory, index, query) for index in (never, once, often)] == [right] * 3


def test_facts_of_one_job_are_compared_with_each_other(memory: RobotMemory) -> None:
    first, second = memory.learn_many(
        ["the red mug stands on the long shelf", "the red mug stands on a low long shelf"]
    )
    assert second.similar_ids == (first.memory_id,)


def test_entries_of_a_fact_that_is_learned_again_do_not_add_up(memory: RobotMemory) -> None:
    index, sizes = FactIndex(), []
    for _ in range(40):
        memory.learn("the mug is red")
        feed(memory.parts.database, index)
        sizes.append(len(index))
    assert sizes[0] == 1
    assert max(sizes) <= 5
