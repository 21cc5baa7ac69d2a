"""What was stored next before and next after a memory, in its session, adds to its score."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.session_neighbours import add_neighbours
from robotmem_ros.memory.storage import Database, rows

from ..conftest import OpenMemory


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({1: 1.0, 3: 0.5}, {1: 1.0 + 0.25, 3: 0.5 + 0.5}),
        ({1: 1.0, 2: 0.4}, {1: 1.0, 2: 0.4}),
        ({3: 0.2, 4: 0.8, 1: 0.6}, {3: 0.2 + 0.4, 4: 0.8 + 0.1, 1: 0.6 + 0.1}),
        ({1: 1.0, 4: 1.0}, {1: 1.0, 4: 1.0}),
        ({5: 1.0, 6: 1.0}, {5: 1.0, 6: 1.0}),
        ({}, {}),
    ],
)
def test_the_better_neighbour_of_the_session_adds_its_share(
    scores: dict[int, float], expected: dict[int, float]
) -> None:
    database = Database(Parameters(db_path=":memory:"))
    for session in ("patrol", "other", "patrol", "patrol", "", ""):
        new = NewMemory(Kind.FACT, "text", "default", 1, "map", "", session_id=session)
        database.write(lambda connection, new=new: rows.insert(connection, new)).result()  # type: ignore[misc]
    with database.reader() as connection:
        assert add_neighbours(connection, scores, 0.5) == pytest.approx(expected)
        assert add_neighbours(connection, scores, 0.0) == scores
    database.close()


def test_of_two_equal_matches_the_neighbour_of_another_match_comes_first(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="", deduplicate=False)
    beside = memory.learn("the valve leaks", session_id="patrol").memory_id
    memory.learn("the valve and the pump leak oil near the pump", session_id="patrol")
    alone = memory.learn("the valve leaks", session_id="round").memory_id
    order = [found.id for found in memory.recall("which pump and valve leak oil")]
    assert order.index(beside) < order.index(alone)
    without = open_memory(embedder=None, embedding_model="", session_neighbor_weight=0.0)
    assert without.recall("valve").memories[0].id == alone
