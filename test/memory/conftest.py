"""What all tests of the core share: memories that close themselves, and one loaded model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import robotmem_ros.memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding import Embedder
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder

from ..support.clock import Clock
from ..support.embedders import Borrowed, WordVectors

OpenMemory = Callable[..., RobotMemory]


@pytest.fixture(scope="session")
def model() -> Iterator[Embedder]:
    """The real default model, loaded once."""
    loaded = FastEmbedEmbedder(Parameters().embedding_model)
    yield Borrowed(loaded)
    loaded.close()


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens memories that close themselves; with word vectors and in a file of this test where nothing else is said."""
    opened: list[RobotMemory] = []

    def open_one(db_path: Path | str | None = None, **options: Any) -> RobotMemory:
        options.setdefault("embedder", WordVectors())
        options.setdefault("synchronous", "normal")
        memory = robotmem_ros.memory.open_memory(db_path or tmp_path / "memory.db", **options)
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def clock() -> Clock:
    """The clock of a robot, which stands until a test sets it."""
    return Clock()


@pytest.fixture
def memory(open_memory: OpenMemory) -> RobotMemory:
    """A memory in a file, with word vectors."""
    return open_memory()


@pytest.fixture
def real_memory(open_memory: OpenMemory, model: Embedder) -> RobotMemory:
    """A memory in a file, with the real model."""
    return open_memory(embedder=model)
