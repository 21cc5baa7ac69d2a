"""A search that goes ahead in another thread changes no answer, whatever goes wrong in it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, MemoryClosedError, RobotMemory
from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.vector_index import VectorIndex
from robotmem_ros.memory.search.vector_index.segment import Segment
from robotmem_ros.memory.storage import Database, codec, vector_rows

from ....support.embedders import Borrowed, WordVectors
from ....support.vector_corpus import DIM, QUERIES, nearest, opened

WIDTHS = (10, 41, 200)


def segment(database: Database) -> Segment:
    """The one file of the index, opened anew: it remembers nothing."""
    with database.reader() as connection:
        (row,) = vector_rows.segments(connection)
    return Segment(database.path.parent, row)


def as_bytes(query: Vector) -> codec.Bytes:
    """A query as a segment takes it."""
    row: codec.Bytes = codec.as_bytes(query[np.newaxis])[0]
    return row


@settings(max_examples=30)
@given(
    asked=st.lists(
        st.tuples(st.integers(0, len(QUERIES) - 1), st.sampled_from(WIDTHS), st.booleans()), min_size=1, max_size=30
    )
)
def test_a_remembered_search_finds_what_a_new_search_finds(filled: Path, asked: list[tuple[int, int, bool]]) -> None:
    with opened(filled) as (database, _):
        remembering = segment(database)
        for query, width, deep in asked:
            ids, near = remembering.nearest(as_bytes(QUERIES[query]), width, deep=deep)
            fresh_ids, fresh_near = segment(database).nearest(as_bytes(QUERIES[query]), width, deep=deep)
            assert (ids.tolist(), near.tolist()) == (fresh_ids.tolist(), fresh_near.tolist())


@pytest.mark.parametrize(("width", "deep"), [(1, False), (10 * 5 // 4 + 16, False), (28, True), (5000, False)])
def test_looking_ahead_changes_no_result(filled: Path, width: int, deep: bool) -> None:
    with opened(filled) as (database, index):
        before = [nearest(database, index, query, 10) for query in QUERIES]
    with opened(filled) as (database, index), ThreadPoolExecutor(2) as threads:
        nearest(database, index, QUERIES[0], 10)  # the files are open
        ahead = [threads.submit(index.look_ahead, query, width, deep=deep) for query in QUERIES]
        after = [nearest(database, index, query, 10) for query in QUERIES]
        assert [one.result() for one in ahead] == [None] * len(QUERIES)
        assert after == before


def test_looking_ahead_of_what_cannot_be_found_is_no_harm(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as (database, index):
        before = nearest(database, index, QUERIES[0], 10)
        for dim in (1, DIM - 1, DIM + 1):
            index.look_ahead(np.ones(dim, np.float32), 10, deep=False)
        assert nearest(database, index, QUERIES[0], 10) == before
    index.look_ahead(QUERIES[0], 10, deep=True)
    with opened(tmp_path / "empty.db") as (_, empty):
        empty.look_ahead(QUERIES[0], 10, deep=True)


class Failing(VectorIndex):
    """An index that cannot look ahead."""

    ahead = 0

    def look_ahead(self, query: Vector, width: int, *, deep: bool) -> None:
        type(self).ahead += 1
        raise RuntimeError("closed")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of more than are few, with an index of their vectors."""
    path = tmp_path_factory.mktemp("known") / "memory.db"
    with RobotMemory(path, embedder=WordVectors(), vector_index_size=100, synchronous="normal") as memory:
        for number in range(2600):
            text = f"box {number} stands on shelf {number % 7}"
            memory.store(NewMemory(Kind.PERCEPTION, text, "default", number + 1, "map", ""))
        memory.flush()
        memory.vectors.flush()
    return path


QUESTIONS = ("box 17", "shelf 3", "a box on the shelf", "nothing of this", "box 17", "stands 2599")


def answers(path: Path) -> list[list[tuple[int, float]]]:
    """What a memory answers to some questions, one after the other and by several threads."""
    with RobotMemory(path, embedder=WordVectors(), vector_index_size=100, synchronous="normal") as memory:
        memory.flush()
        alone = [[(one.id, one.score) for one in memory.recall(query)] for query in QUESTIONS]
        with ThreadPoolExecutor(4) as threads:
            many = list(threads.map(memory.recall, QUESTIONS * 5))
        assert [[(one.id, one.score) for one in answer] for answer in many] == alone * 5
    return alone


def test_a_failure_while_looking_ahead_does_not_show(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = answers(known)
    assert all(len(answer) == 5 for answer in usual)
    monkeypatch.setattr("robotmem_ros.memory.parts.VectorIndex", Failing)
    assert answers(known) == usual
    assert Failing.ahead > 0


class Noting(VectorIndex):
    """Notes which threads look ahead."""

    threads: ClassVar[set[str]] = set()

    def look_ahead(self, query: Vector, width: int, *, deep: bool) -> None:
        self.threads.add(threading.current_thread().name)
        super().look_ahead(query, width, deep=deep)


def test_a_look_ahead_never_runs_on_the_thread_of_the_query(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotmem_ros.memory.parts.VectorIndex", Noting)
    assert all(len(answer) == 5 for answer in answers(known))
    assert Noting.threads
    assert {name.rpartition("_")[0] for name in Noting.threads} == {"robotmem-query"}


class Waiting(WordVectors):
    """Gives no vector until it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def embed_one(self, text: str) -> Vector:
        self.told.wait()
        return super().embed_one(text)


def test_a_vector_that_comes_after_the_memory_was_closed_is_no_harm(known: Path) -> None:
    embedder = Waiting()
    memory = RobotMemory(known, embedder=Borrowed(embedder), vector_index_size=100, synchronous="normal")
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(memory.recall, "box 17")
        closing = threads.submit(memory.close)
        embedder.told.set()
        closing.result()
        with suppress(MemoryClosedError):
            assert len(asked.result()) == 5
