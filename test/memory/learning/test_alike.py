"""A fact is compared with all that may say the same or the opposite, as by a look at every fact, whenever they came."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding.profile import profile_of
from robotmem_ros.memory.learning.comparison import AlikeFacts, Compared, Neighbours, contradicted_among, similar_among
from robotmem_ros.memory.learning.learning import _MAX_LINKS, Learned, store_or_merge
from robotmem_ros.memory.storage import codec, fact_rows, rows, vector_rows
from robotmem_ros.memory.storage.fact_rows import CANDIDATES
from robotmem_ros.memory.storage.snapshot import Transaction
from robotmem_ros.memory.table.table import Table
from robotmem_ros.memory.text.statement import jaccard, statement

from ...support.embedders import WordVectors
from ...support.examples import examples
from ..conftest import OpenMemory

WORDS = ("mug", "lamp", "shelf", "door", "grip", "12 N", "15 N", "slipped", "worked", "not", "kitchen")
ONE_TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
TEXTS = st.lists(ONE_TEXT, min_size=1, max_size=25)
SIMILARITY = 0.7
NOTHING = Table.empty()


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


def known_now(memory: RobotMemory, stack: ExitStack) -> Table:
    """The table as it is now."""
    with memory.parts.tables.with_facts() as view:
        return stack.enter_context(memory.parts.tables.holding(view))


def ids(memory: RobotMemory, known: Table, query: str) -> list[int]:
    """The ids that are found where these facts were known, and all others came later."""

    def work(transaction: Transaction) -> list[int]:
        return [fact.id for fact in AlikeFacts(transaction, known).find("default", query, similarity=SIMILARITY)]

    return memory.parts.database.write(work).result()


@given(TEXTS, TEXTS, st.data())
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_as_brute_force_finds_them(first: Sequence[str], then: Sequence[str], data: st.DataObject) -> None:
    with RobotMemory(":memory:", embedding_model="", deduplication="off") as memory, ExitStack() as stack:
        known, texts = [NOTHING], {}
        for number, text in enumerate((*first, *then)):
            memory.learn(text, collection="other")
            texts[memory.learn(text).memory_id] = text
            if number == len(first) or data.draw(st.booleans()):
                known.append(known_now(memory, stack))
        for changed in data.draw(st.lists(st.sampled_from(sorted(texts)), unique=True, max_size=5)):
            step = data.draw(st.sampled_from(("forget", "delete", "update", "restore")))
            if step == "update":
                text = texts[changed] = data.draw(ONE_TEXT)
                memory.update(changed, text)
            elif step == "delete":
                memory.parts.database.write(partial(rows.delete, memory_ids=[changed])).result()
                del texts[changed]
            else:
                memory.forget(changed, reason="it is not so")
                if step == "restore":
                    memory.restore(changed)
                else:
                    del texts[changed]
            known.append(known_now(memory, stack))
        for query in (*first[:3], "mug lamp shelf 12 N"):
            right = expected(texts, query)[:CANDIDATES]
            assert [ids(memory, one, query) for one in known] == [right] * len(known)


def check(memory: RobotMemory, learned: Sequence[Learned]) -> None:
    """Compare facts that were learned last with all facts that were there before each."""
    with memory.parts.database.snapshot() as snapshot:
        for result in learned:
            fact = rows.stored_fact(snapshot, result.memory_id)
            assert fact is not None
            earlier = [key for key in snapshot.ids("SELECT id FROM memories ORDER BY id") if key < result.memory_id]
            vectors = dict(vector_rows.of_memories(snapshot, earlier, WordVectors().dim))
            vector = WordVectors().embed_one(fact.content)
            cosines = 1.0 - codec.nearest([*vectors.values()], vector)[1]
            close = np.where(cosines >= profile_of(WordVectors().name).similar_cosine, cosines, 0.0)
            near = dict(zip(vectors, close.tolist(), strict=True))
            others = [
                other for key in earlier for other in fact_rows.first_active(snapshot, fact.collection, np.array([key]))
            ]
            compared = {other.id: Compared(other, near.get(other.id, 0.0)) for other in others}
            similar = similar_among(fact, compared, memory.parameters)[:_MAX_LINKS]
            against = contradicted_among(result.memory_id, fact, compared, memory.parameters.similar_jaccard)
            assert result.similar_ids == tuple(link.memory_id for link in similar), fact.content
            assert result.contradicts == tuple(key for key, _ in against), fact.content


def a_fact(draw: random.Random) -> dict[str, Any]:
    """A fact of few words, with an outcome or without."""
    context = draw.choice(({}, {}, {"task": {"success": draw.random() < 0.5}}))
    content = " ".join(draw.choices(WORDS, k=draw.randrange(1, 8)))
    return {"insight": content, "context": context, "collection": draw.choice(("default", "default", "other"))}


def learned_together(memory: RobotMemory, draw: random.Random) -> list[Learned]:
    """Learn facts in one transaction, by several jobs of which one fails when it has stored its fact."""
    hold = threading.Event()
    memory.parts.database.write(lambda transaction: hold.wait(120))

    def fail(transaction: Transaction) -> None:
        known = AlikeFacts(transaction, NOTHING)
        fact = rows.stored_fact(transaction, rows.last_id(transaction))
        if fact is not None:
            store_or_merge(transaction, fact, Neighbours(), known, memory.parameters)
        raise ZeroDivisionError

    with ThreadPoolExecutor(5) as threads:
        learning = [threads.submit(memory.learn_many, [a_fact(draw) for _ in range(3)]) for _ in range(2)]
        failing = memory.parts.database.write(fail)
        learning += [threads.submit(memory.learn_many, [a_fact(draw)]) for _ in range(2)]
        hold.set()
        with pytest.raises(ZeroDivisionError):
            failing.result(120)
        return [result for future in learning for result in future.result(120)]


@pytest.mark.parametrize("seed", range(3))
def test_a_fact_is_compared_with_all_others_whoever_wrote_them_and_when(open_memory: OpenMemory, seed: int) -> None:
    draw, first = random.Random(seed), open_memory(deduplication="off")
    programs = [first, open_memory(first.path, deduplication="off")]
    for program in programs:
        program.warm_up()
    for _ in range(25):
        memory = draw.choice(programs)
        step = draw.randrange(6)
        if step < 2:
            check(memory, [memory.learn(**a_fact(draw))])
        elif step == 2:
            check(memory, memory.learn_many([a_fact(draw) for _ in range(draw.randrange(1, 20))]))
        elif step == 3:
            check(memory, learned_together(memory, draw))
        else:
            with memory.parts.database.snapshot() as snapshot:
                active = snapshot.ids("SELECT id FROM memories WHERE status = 'active'")
            for key in draw.sample(active, min(3, len(active))):
                if step == 4:
                    memory.forget(key, reason="it is not so")
                else:
                    memory.update(key, a_fact(draw)["insight"])
            memory.flush()  # a new text gets its vector later


def test_a_correction_of_what_another_program_learned_hides_no_other_fact(open_memory: OpenMemory) -> None:
    first = open_memory(embedder=None, embedding_model="", deduplication="off")
    other = open_memory(first.path, embedder=None, embedding_model="", deduplication="off")
    first.learn_many(["a bell rings", "a cat sleeps"])
    first.learn("a window is open")
    corrected = other.learn("the lamp is on").memory_id
    against = other.learn("hold the red mug with 12 N").memory_id
    first.update(corrected, "the lamp hangs low")
    first.learn("a door slams")
    assert first.learn("hold the red mug with 15 N").contradicts == (against,)


@pytest.mark.parametrize("perceptions", [0, 60])
def test_facts_of_similar_meaning_are_found_among_perceptions(memory: RobotMemory, perceptions: int) -> None:
    memory.save_many([f"saw mug mug mug {number}" for number in range(perceptions)])
    first = memory.learn("mug mug mug mug mug mug lamp").memory_id
    memory.learn("a door slams")
    memory.flush()
    learned = memory.learn("mug mug mug mug mug mug shelf")
    assert (learned.similar_ids, learned.method) == ((first,), "cosine")
    check(memory, [learned])


def test_facts_of_one_job_are_compared_with_each_other(memory: RobotMemory) -> None:
    first, second = memory.learn_many(
        ["the red mug stands on the long shelf", "the red mug stands on a low long shelf"]
    )
    assert second.similar_ids == (first.memory_id,)


def test_entries_of_a_fact_that_is_learned_again_do_not_add_up(memory: RobotMemory) -> None:
    for _ in range(40):
        memory.learn("the mug is red")
    with memory.parts.tables.with_facts() as view:
        facts = view.table.facts
    assert (len(facts.terms._parts), len(facts.terms._parts[0].segment.rows)) == (1, 1)
