"""The text search by itself against its formula."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.conditions.attributes import Collections
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.text_search import TextSearch
from robotmem_ros.memory.storage import Database, rows
from robotmem_ros.memory.table.tables import Tables
from robotmem_ros.memory.table.view import Chosen, View
from robotmem_ros.memory.text.tokens import analyse

COLOURS, THINGS, PLACES = ("red", "blue", "green"), ("mug", "bowl", "lamp", "book"), ("kitchen", "hall", "garage")
RARE = ("zebra", "quartz")
SIZE = 2000


def texts() -> Iterator[str]:
    """Texts of few words, each of them in hundreds of memories, and two words in a few."""
    draw = random.Random(3)
    for number in range(SIZE):
        words = [draw.choice(COLOURS), draw.choice(THINGS), draw.choice(PLACES)]
        if number % 200 == 7:
            words.append(RARE[number % 2])
        if draw.random() < 0.3:
            words += draw.choices((*COLOURS, *THINGS), k=3)
        yield " ".join(words)


@contextmanager
def view_of(contents: Sequence[str]) -> Iterator[View]:
    """Facts with some contents, with the ids from 1."""
    with closing(Database(Parameters(db_path=":memory:"))) as database:
        news = [NewMemory(Kind.FACT, text, "default", number, "map", "") for number, text in enumerate(contents)]
        database.write(lambda transaction: rows.insert_all(transaction, news)).result()
        with Tables(database).reading() as view:
            yield view


@pytest.fixture(scope="module")
def crowd() -> Iterator[View]:
    """A world of few words."""
    with view_of([*texts()]) as view:
        yield view


def scores(view: View, query: str, first: int = 0, *, k1: float = 0.9, b: float = 0.4) -> Mapping[int, float]:
    """The scores, by id, of the memories from a row on that contain a word of a query."""
    chosen = Chosen(view, np.arange(len(view.ids)) >= first)
    search = TextSearch(view, analyse(query), Parameters(bm25_k1=k1, bm25_b=b), Collections((), True))
    found = zip(chosen.ids.tolist(), search.scores(chosen).tolist(), strict=True)
    return {memory_id: score for memory_id, score in found if score}


QUERIES = st.lists(st.sampled_from((*COLOURS, *THINGS, *PLACES, *RARE)), min_size=1, max_size=7, unique=True)


@settings(max_examples=50, deadline=None)
@given(words=QUERIES, k1=st.just(0.9) | st.floats(0, 10), b=st.just(0.4) | st.floats(0, 1), few=st.booleans())
def test_the_scores_are_those_of_the_formula(crowd: View, words: list[str], k1: float, b: float, *, few: bool) -> None:
    memories = dict(enumerate(map(str.split, texts()), start=1))
    mean = sum(map(len, memories.values())) / len(memories)
    frequency = {word: sum(word in held for held in memories.values()) for word in words}
    first = SIZE - 50 if few else 0
    expected = {}
    for memory_id, held in [*memories.items()][first:]:
        score = 0.0
        for word in words:
            idf = math.log1p((len(memories) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            if count := held.count(word):
                score += idf * count * (k1 + 1) / (count + k1 * (1 - b + b * len(held) / mean))
        if score:
            expected[memory_id] = score
    assert scores(crowd, " ".join(words), first, k1=k1, b=b) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(words=QUERIES)
def test_few_rows_have_the_very_scores_that_they_have_among_all(crowd: View, words: list[str]) -> None:
    query, first = f"{' '.join(words)} red_mug", SIZE - 50
    every = scores(crowd, query)
    assert scores(crowd, query, first) == {one: score for one, score in every.items() if one > first}


@pytest.mark.parametrize("query", ["unheard of", "x", ""])
def test_a_query_without_a_known_word_finds_nothing(crowd: View, query: str) -> None:
    assert scores(crowd, query) == {}


def test_a_compound_weighs_as_much_as_its_rarest_word() -> None:
    contents = ["grip_force grip_force", "force grip", "grip grip", "force", "plant", "lamp", "sofa", "rug", "pan"]
    with view_of(contents) as view:
        found = scores(view, "grip_force")
    mean = 14 / 9
    weight = math.log1p((9 - 3 + 0.5) / 3.5)

    def part(count: int, length: int) -> float:
        return weight * count * 1.9 / (count + 0.9 * (0.6 + 0.4 * length / mean))

    assert found == pytest.approx({1: 3 * part(2, 4), 2: 2 * part(1, 2), 3: part(2, 2), 4: part(1, 1)})
