"""Recalls by several threads, and one that is still waiting for the model when the memory is closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from robotmem_ros.memory import Kind, MemoryClosedError, RobotMemory
from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.models import NewMemory

from ...support.embedders import Borrowed, WordVectors

QUERIES = ("box 17", "shelf 3", "a box on the shelf", "nothing of this", "box 17", "stands 2599")


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of more than are few, with their vectors."""
    path = tmp_path_factory.mktemp("boxes") / "memory.db"
    with RobotMemory(path, embedder=WordVectors(), synchronous="normal") as memory:
        for number in range(2600):
            text = f"box {number} stands on shelf {number % 7}"
            memory.store(NewMemory(Kind.PERCEPTION, text, "default", number + 1, "map", ""))
        memory.flush()
    return path


def test_several_threads_get_the_results_that_one_gets(boxes: Path) -> None:
    with RobotMemory(boxes, embedder=WordVectors(), synchronous="normal") as memory:
        memory.flush()
        alone = [[(one.id, one.score) for one in memory.recall(query)] for query in QUERIES]
        assert all(len(found) == 5 for found in alone)
        with ThreadPoolExecutor(4) as threads:
            many = list(threads.map(memory.recall, QUERIES * 5))
        assert [[(one.id, one.score) for one in result] for result in many] == alone * 5


class Waiting(WordVectors):
    """Gives no vector until it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def embed_one(self, text: str) -> Vector:
        self.told.wait()
        return super().embed_one(text)


def test_a_vector_that_comes_after_the_memory_was_closed_is_no_harm(boxes: Path) -> None:
    embedder = Waiting()
    memory = RobotMemory(boxes, embedder=Borrowed(embedder), synchronous="normal")
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(memory.recall, "box 17")
        closing = threads.submit(memory.close)
        embedder.told.set()
        closing.result()
        with suppress(MemoryClosedError):
            assert len(asked.result()) == 5
