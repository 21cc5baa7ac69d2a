"""The text search by itself: its formula, and what it still promises where words are common."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.candidates import find_candidates
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.search.text_index import TextReader
from robotmem_ros.memory.storage import Database, rows
from robotmem_ros.memory.storage.candidates import list_if_few
from robotmem_ros.memory.storage.snapshot import Snapshot
from robotmem_ros.memory.text import tokens
from robotmem_ros.memory.text.analysis import analyse

from ...support.corpus import Ranking, ranking

COLOURS, THINGS, PLACES = ("red", "blue", "green"), ("mug", "bowl", "lamp", "book"), ("kitchen", "hall", "garage")
pytestmark = pytest.mark.slow
RARE = ("zebra", "quartz")
SIZE = 2000
UNBOUNDED = 10**9


def texts() -> Iterator[str]:
    """Texts of few words, each of them in hundreds of memories, and two words in a few."""
    draw = random.Random(3)
    for number in range(SIZE):
        words = [draw.choice(COLOURS), draw.choice(THINGS), "in", "the", draw.choice(PLACES)]
        if number % 200 == 7:
            words.append(RARE[number % 2])
        if draw.random() < 0.3:
            words += draw.choices((*COLOURS, *THINGS), k=3)
        yield " ".join(words)


@pytest.fixture(scope="module")
def crowd() -> Iterator[Snapshot]:
    """A snapshot of a world of few words."""
    database = Database(Parameters(db_path=":memory:"))
    news = [
        NewMemory(Kind.FACT, text, "default", number, "map", "", session_id="old" if number < SIZE // 2 else "")
        for number, text in enumerate(texts())
    ]
    database.write(lambda transaction: [rows.insert(transaction, new) for new in news]).result()
    with database.snapshot() as snapshot:
        yield snapshot
    database.close()


def search(
    snapshot: Snapshot,
    query: str,
    limit: int,
    *,
    depth: int = SIZE,
    session: str = "",
    k1: float = 0.9,
    b: float = 0.4,
) -> Ranking:
    """What the text search finds."""
    parsed = parse_query(Parameters(), RecallRequest(query, session_id=session), decay=Decay(0.0, now=0))
    parameters = Parameters(text_candidates=limit, bm25_k1=k1, bm25_b=b)
    reader = TextReader(snapshot, (), analyse(query), parameters, ["default"])
    return ranking(reader.search(find_candidates(snapshot, parsed.conditions), depth))


def content(snapshot: Snapshot, memory_id: int) -> list[str]:
    """The words of a memory."""
    return str(snapshot.row("SELECT content FROM memories WHERE id = ?", (memory_id,))[0]).split()


QUERIES = st.lists(st.sampled_from((*COLOURS, *THINGS, *PLACES, *RARE)), min_size=1, max_size=7, unique=True)


@settings(max_examples=150)
@given(words=QUERIES, limit=st.sampled_from((100, 300, 1000)), session=st.sampled_from(("", "old")))
def test_a_bounded_search_gives_true_scores_and_first_of_all_what_holds_all_words(
    crowd: Snapshot, words: list[str], limit: int, session: str
) -> None:
    everything = search(crowd, " ".join(words), UNBOUNDED, session=session)
    found = search(crowd, " ".join(words), limit, session=session)
    measures = dict(everything)
    assert [measures[hit.memory_id] for hit in found] == [hit.measure for hit in found]
    assert found == sorted(found, key=lambda hit: (hit.measure, -hit.memory_id))
    assert len(found) <= 2 * limit
    assert len(found) >= min(len(everything), limit // 4)
    stems = {word: tokens.indexed_text(word) for word in words}
    holding = [
        memory_id
        for memory_id in measures
        if set(stems.values()) <= set(tokens.indexed_text(" ".join(content(crowd, memory_id))).split())
    ]
    newest = sorted(holding, reverse=True)[: limit // 8]
    assert set(newest) <= {hit.memory_id for hit in found}
    rare = {memory_id for memory_id in measures if {*RARE} & {*words} & {*content(crowd, memory_id)}}
    assert rare <= {hit.memory_id for hit in found}


@given(words=QUERIES, k1=st.just(0.9) | st.floats(0, 10), b=st.just(0.4) | st.floats(0, 1))
def test_a_search_with_room_for_all_is_the_formula(crowd: Snapshot, words: list[str], k1: float, b: float) -> None:
    memories = {row[0]: row[1].split() for row in crowd.rows("SELECT id, content FROM memories")}
    mean = sum(map(len, memories.values())) / len(memories)
    frequency = {word: sum(word in held for held in memories.values()) for word in words}
    expected = {}
    for memory_id, held in memories.items():
        score = 0.0
        for word in words:
            idf = math.log1p((len(memories) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            if count := held.count(word):
                score -= idf * count * (k1 + 1) / (count + k1 * (1 - b + b * len(held) / mean))
        if score:
            expected[memory_id] = score
    found = search(crowd, " ".join(words), UNBOUNDED, k1=k1, b=b)
    assert dict(found) == pytest.approx(expected, abs=1e-9)


def test_few_candidates_are_all_ranked_however_common_the_words(crowd: Snapshot) -> None:
    query = parse_query(Parameters(), RecallRequest("red mug", after=10, before=400), decay=Decay(0.0, now=0))
    few = list_if_few(crowd, find_candidates(crowd, query.conditions), 10)
    assert few.ids is not None
    reader = TextReader(crowd, (), analyse("red mug"), Parameters(text_candidates=100), ["default"])
    expected = [hit for hit in search(crowd, "red mug", UNBOUNDED) if hit.memory_id in few.ids]
    assert ranking(reader.search(few, SIZE)) == expected


def test_words_that_most_memories_hold_weigh_next_to_nothing_but_are_searched(crowd: Snapshot) -> None:
    found = search(crowd, "in the", 100)
    assert len(found) >= 25
    assert max(-hit.measure for hit in found) < 1e-3


@pytest.mark.parametrize("query", ["unheard of", "x"])
def test_a_query_without_a_known_word_finds_nothing(crowd: Snapshot, query: str) -> None:
    assert search(crowd, query, 100) == []
    assert search(crowd, "mug", 100, depth=0) == []


def test_a_compound_weighs_as_much_as_its_rarest_word() -> None:
    database = Database(Parameters(db_path=":memory:"))
    contents = ["grip_force grip_force", "force grip", "grip grip", "force", "plant", "lamp", "sofa", "rug", "pan"]
    news = [NewMemory(Kind.FACT, text, "default", 1, "map", "") for text in contents]
    database.write(lambda transaction: [rows.insert(transaction, new) for new in news]).result()
    with database.snapshot() as snapshot:
        found = dict(search(snapshot, "grip_force", UNBOUNDED))
    mean = 14 / 9
    weight = math.log1p((9 - 3 + 0.5) / 3.5)

    def part(count: int, length: int) -> float:
        return weight * count * 1.9 / (count + 0.9 * (0.6 + 0.4 * length / mean))

    expected = {1: -3 * part(2, 4), 2: -2 * part(1, 2), 3: -part(2, 2), 4: -part(1, 1)}
    assert found == pytest.approx(expected)
    database.close()
