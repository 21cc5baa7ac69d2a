"""Words weigh as they do in the collections that are searched, whatever other collections hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Parameters, RobotMemory
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.candidates import find_candidates
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.search.text_index import TextReader
from robotmem_ros.memory.search.text_index.bm25 import read_statistics
from robotmem_ros.memory.storage import Database, changes, rows
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction
from robotmem_ros.memory.text.analysis import analyse
from robotmem_ros.memory.text.tokens import indexed_text

WORDS = ("mug", "lamp", "shelf", "käse", "杯子")
COLLECTIONS = ("default", 'a "quoted" name', "\\n", "杯子")
LIMIT = 100


def stored(database: Database, texts: Sequence[tuple[str, str]]) -> None:
    """Stores collections and texts."""
    news = [
        NewMemory(Kind.FACT, text, collection, moment, "map", "") for moment, (collection, text) in enumerate(texts)
    ]
    database.write(lambda transaction: rows.insert_all(transaction, news)).result()


@pytest.fixture(scope="module")
def many() -> Iterator[Snapshot]:
    """Memories of several collections, some of them changed, moved, withdrawn or deleted."""
    draw = random.Random(5)
    database = Database(Parameters(db_path=":memory:"))
    texts = [(draw.choice(COLLECTIONS), " ".join(draw.choices(WORDS, k=draw.randint(1, 6)))) for _ in range(60)]
    stored(database, texts)

    def change(transaction: Transaction) -> None:
        for memory_id in range(1, 11):
            changes.update(transaction, memory_id, {"content": "lamp lamp"}, None)
            changes.invalidate(transaction, [10 + memory_id], "a test")
        for memory_id in range(21, 26):
            rows.update(transaction, memory_id, {"collection": "new"})
        rows.delete(transaction, range(26, 31))

    database.write(change).result()
    with database.snapshot() as snapshot:
        yield snapshot
    database.close()


@given(collections=st.lists(st.sampled_from((*COLLECTIONS, "new", "unknown")), max_size=4))
def test_the_statistics_are_those_of_the_collections_together(many: Snapshot, collections: list[str]) -> None:
    texts = [
        indexed_text(text).split()
        for collection, text in many.rows("SELECT collection, content FROM memories")
        if not collections or collection in collections
    ]
    found = read_statistics(many, WORDS, collections)
    assert found.memories == len(texts)
    assert found.mean_length == pytest.approx(sum(map(len, texts)) / max(len(texts), 1))
    assert found.frequencies == {
        word: n for word, n in Counter(word for text in texts for word in set(text)).items() if word in WORDS
    }


def test_a_name_that_all_memories_of_the_collection_contain_decides_nothing() -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        for number in range(30):
            memory.learn(f"paul said {number} things", collection="elsewhere")
        memory.learn("paul and paul and paul again", collection="robot")
        memory.learn("paul broke the lamp", collection="robot")
        memory.learn("paul repaired the gripper", collection="robot")
        memory.learn("paul went home", collection="robot")
        assert memory.recall("did paul break a lamp", collection="robot")[0].memory.content == "paul broke the lamp"


def test_without_postings_what_holds_a_word_that_only_others_often_have_is_found() -> None:
    database = Database(Parameters(db_path=":memory:"))
    stored(database, [("default" if number % 20 == 7 else "lab", "red mug") for number in range(1000)])
    stored(database, [("default", "blue mug")] * 3000)
    with database.snapshot() as snapshot:
        request = RecallRequest("red mug", min_confidence=0.0)
        candidates = find_candidates(snapshot, parse_query(Parameters(), request, decay=Decay(0.0, now=0)).conditions)
        parameters = Parameters(text_candidates=LIMIT)
        hits = TextReader(snapshot, (), analyse("red mug"), parameters, ["default"]).search(candidates, 50)
    assert hits.ids.tolist() == [number + 1 for number in range(999, 0, -1) if number % 20 == 7]
    database.close()
