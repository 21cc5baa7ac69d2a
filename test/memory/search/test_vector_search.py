"""The vector search by itself: how near rows are, all of them or a few, and exactly by the vectors as they are kept."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.embedding import Vector, Vectors
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.vector_search import VectorSearch
from robotmem_ros.memory.storage import Database, codec, rows, vector_rows
from robotmem_ros.memory.storage.snapshot import Transaction
from robotmem_ros.memory.table.column import Floats, Rows
from robotmem_ros.memory.table.tables import Tables
from robotmem_ros.memory.table.view import Chosen, View

from ...support.no_ram import leave_no_ram
from ...support.vector_corpus import clustered

DIM, COUNT = 32, 3000


@dataclass(frozen=True)
class World:
    """Memories, of which every seventh has no vector, and those of the parts of others, as float32; zeros without."""

    view: View
    parts: Sequence[Vectors]

    def nearest(self, rows: Rows, query: Vector) -> Floats:
        """Return the cosines of rows as they are kept: of the nearest part of each."""
        return np.array([(self.parts[row] @ query).max() for row in rows.tolist()])


@pytest.fixture(scope="module", params=[2000, 60], ids=["most texts once", "few texts often"])
def different(request: pytest.FixtureRequest) -> int:
    """How many texts are different."""
    count: int = request.param
    return count


@pytest.fixture(scope="module", params=[True, False], ids=["in RAM", "in the file"])
def world(request: pytest.FixtureRequest, different: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Memories of some texts, some of which have several parts."""
    vectors = clustered(different, 2, dim=DIM)
    texts = [number % 7 and random.Random(number).randrange(different) for number in range(COUNT)]
    encoded = codec.encode(vectors)
    parts = [encoded[text : text + 1 + text % 3 * (text % 5 == 0)] for text in range(different)]

    def fill(transaction: Transaction) -> None:
        for number, text in enumerate(texts):
            new = NewMemory(
                Kind.FACT, f"text {text}" if number % 7 else f"none {number}", "default", number + 1, "map", ""
            )
            memory_id = rows.insert(transaction, new)
            if number % 7:
                vector_rows.store(transaction, [(memory_id, new.content, parts[text])])

    with closing(Database(Parameters(db_path=":memory:"))) as database, pytest.MonkeyPatch.context() as patch:
        database.write(fill).result()
        if not request.param:
            leave_no_ram(patch, tmp_path_factory.mktemp("machine"))
        with Tables(database).reading() as view:
            assert bool(view.table.vectors.no_room) is not request.param
            kept = [codec.decode(codes, DIM) for codes in parts]
            nothing = np.zeros((1, DIM), np.float32)
            yield World(view, [kept[text] if number % 7 else nothing for number, text in enumerate(texts)])


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_similarities_differ_from_the_exact_ones_by_their_error_at_most(world: World, share: float) -> None:
    chosen = Chosen(world.view, np.random.default_rng(1).random(COUNT) < share)
    has_vector = chosen.rows % 7 > 0
    for query in clustered(20, 7, dim=DIM):
        search = VectorSearch(world.view, partial(np.asarray, query))
        similarities = search.similarities(chosen)
        assert (similarities > -math.inf).tolist() == has_vector.tolist()
        exact = world.nearest(chosen.rows, query)
        assert np.abs(similarities[has_vector] - exact[has_vector]).max() <= search.error


def test_exact_similarities_are_those_of_the_vectors_as_they_are_kept(world: World) -> None:
    query, chosen = clustered(1, 8, dim=DIM)[0], np.arange(3, COUNT, 5)
    exact = VectorSearch(world.view, lambda: query).exact(chosen)
    assert np.isnan(exact).tolist() == (chosen % 7 == 0).tolist()
    expected = world.nearest(chosen, query)[chosen % 7 > 0]
    assert exact[chosen % 7 > 0] == pytest.approx(expected, abs=2e-6)


def test_a_query_of_another_length_is_near_to_nothing(world: World) -> None:
    search = VectorSearch(world.view, lambda: np.ones(DIM + 1, np.float32))
    assert search.similarities(Chosen(world.view, np.ones(COUNT, bool))).max() == -math.inf
    assert np.isnan(search.exact(np.arange(10))).all()
