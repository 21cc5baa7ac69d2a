"""Where too little RAM is free, vectors are compared in the file: results are the same, and the status says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.learning.comparison import find_neighbours
from robotmem_ros.memory.table import vectors

from ...support.embedders import WordVectors
from ...support.no_ram import leave_no_ram

REASON = "too little RAM is free (100 MB) to hold the vectors; they are compared where they lie in the file"
TEXTS = [
    f"{color} {thing} in room {room}" for room in range(12) for color in ("red", "blue") for thing in ("mug", "cup")
]
QUERIES = ("red mug", "shiny blue cup in room 7", "kettle", "room")
Found = list[list[tuple[int, float, float]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with vectors of many texts, of which some are forgotten, and purged."""
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedder=WordVectors(), synchronous="normal") as memory:
        memory.save_many([{"description": text} for text in TEXTS])
        memory.flush()
        memory.forget([3, 5], "moved")
        memory.purge(ids=[7, 9])
    return path


def found(memory: RobotMemory) -> Found:
    return [[(one.id, one.relevance, one.similarity) for one in memory.recall(text, n=20)] for text in QUERIES]


def test_a_recall_finds_the_same_in_the_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RobotMemory(path, embedder=WordVectors()) as memory:
        in_ram = found(memory)
        assert "RAM" not in memory.status().reason
    leave_no_ram(monkeypatch, tmp_path)
    with RobotMemory(path, embedder=WordVectors()) as memory:
        assert found(memory) == in_ram
        assert REASON in memory.status().reason


def test_what_is_saved_when_ram_has_become_short_is_compared_in_the_file_with_the_rest(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "ROWS", 16)
    with RobotMemory(path, embedder=WordVectors()) as memory:
        found(memory)
        assert "RAM" not in memory.status().reason
        leave_no_ram(monkeypatch, tmp_path)
        memory.save_many([{"description": f"green mug in hall {number}"} for number in range(40)])
        memory.flush()
        here = found(memory)
        assert REASON in memory.status().reason
    monkeypatch.undo()
    with RobotMemory(path, embedder=WordVectors()) as memory:
        assert found(memory) == here


def test_facts_of_similar_meaning_are_found_in_the_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = WordVectors()
    with RobotMemory(path, embedder=model) as memory:
        facts = {memory.learn(text).memory_id for text in ("the dock is behind the door", "the gripper slipped")}
        memory.flush()
    leave_no_ram(monkeypatch, tmp_path)
    with RobotMemory(path, embedder=model) as memory:
        vectors_of_queries = [*model.embed_batch(["behind the door is the dock", "kettle"])]
        with memory.parts.tables.reading() as view:
            behind, kettle = find_neighbours(view, model.name, vectors_of_queries)
        assert memory.parts.tables.no_room
    assert behind.ids == (min(facts),)
    assert (kettle.ids, kettle.reason) == ((), "")
