"""A text that is longer than the model reads has a vector for each of its parts, and is as near as the nearest."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding import Vectors

from ...support.embedders import FewWords
from ..conftest import OpenMemory

LONG = "the lift is out. we took the stairs. the mug broke there."
LAST = "the mug broke there."


def parts_of(path: Path) -> list[int]:
    """Return how many parts each text has."""
    with sqlite3.connect(path) as connection:
        counts = [count for (count,) in connection.execute("SELECT parts FROM vectors ORDER BY id")]
    connection.close()
    return counts


def cosine(memory: RobotMemory, query: str, content: str) -> float:
    """Return the cosine of the memory of a text."""
    (hit,) = (hit for hit in memory.recall(query, n=50) if hit.memory.content == content)
    return hit.similarity


def test_what_a_model_does_not_read_of_a_text_at_once_is_found_by_its_meaning() -> None:
    filler = "The corridor on the second floor was inspected and nothing unusual was noticed by the robot. " * 20
    keys = (
        "The spare key of the laboratory hangs behind the fire extinguisher. Whoever takes the key signs the list. "
        "The key opens the cabinet of chemicals, too. A lost key must be reported to the head of the laboratory."
    )
    with RobotMemory(":memory:", text_weight=0.0, content_limit=5000) as memory:
        long = memory.save_perception(filler + keys).memory_id
        for text in ("The charger of the drone is in the workshop.", "A red mug stands on the table.", filler):
            memory.save_perception(text)
        memory.flush()
        assert memory.recall("who may use the key of the laboratory?", n=1)[0].id == long


def test_a_memory_is_as_near_as_its_nearest_part_wherever_vectors_are_read(
    tmp_path: Path, open_memory: OpenMemory
) -> None:
    memory = open_memory(tmp_path / "memory.db", embedder=FewWords())
    memory.save_perception(LONG)
    memory.save_perception(LAST)
    memory.flush()
    assert parts_of(tmp_path / "memory.db") == [3, 1]
    assert cosine(memory, LAST, LONG) == cosine(memory, LAST, LAST) > 0.99
    memory.update(1, "the lift is out")
    memory.flush()
    assert parts_of(tmp_path / "memory.db") == [1, 1]
    assert cosine(memory, LAST, "the lift is out") < 0.5
    memory.update(1, LONG)
    memory.flush()
    memory.purge(ids=[1])
    memory.flush()
    assert parts_of(tmp_path / "memory.db") == [1]
    assert memory.status().pending_vectors == 0


def test_facts_that_share_a_part_are_not_the_same_by_meaning(open_memory: OpenMemory) -> None:
    memory = open_memory(":memory:", embedder=FewWords(), similar_jaccard=1.0)
    memory.learn("press the green button. then wait. the lamp goes on.")
    memory.flush()
    other = memory.learn("press the green button. never again today. it was a bad idea.")
    short = memory.learn("press the green button")
    assert (other.similar_ids, short.similar_ids) == ((), ())
    assert other.reason == "meanings were not compared: the text is longer than the embedding model reads at once"
    memory.flush()
    assert memory.status().pending_vectors == 0
    assert memory.learn("the green button press").similar_ids == (short.memory_id,)


class Picky(FewWords):
    """Refuses texts with a word."""

    refuses = "stairs"

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, or raise."""
        if any(self.refuses in text for text in texts):
            raise ValueError("no stairs")
        return super().embed_batch(texts)


def test_a_text_of_which_the_model_refuses_a_part_is_tried_again_as_a_whole(
    tmp_path: Path, open_memory: OpenMemory
) -> None:
    model = Picky()
    memory = open_memory(tmp_path / "memory.db", embedder=model)
    memory.save_perception(LONG)
    memory.save_perception("a long way. to the hall. and to the dock.")
    memory.flush()
    assert (parts_of(tmp_path / "memory.db"), memory.status().pending_vectors) == ([3], 1)
    assert "refused 1 text" in memory.status().reason
    model.refuses = "nothing"
    memory.flush()
    assert memory.status().pending_vectors == 0


def test_parts_in_a_script_that_the_model_does_not_read_have_no_vector() -> None:
    with RobotMemory(":memory:", embedder=FewWords(name="all-MiniLM-L6-v2")) as memory:
        memory.parts.embedder.wait()
        text = "the lift is out. 充电桩在三号门旁边。 we took the stairs."
        assert [*memory.parts.embedder.parts_of(text)] == ["the lift is out. ", " we took the stairs."]
        assert [*memory.parts.embedder.parts_of("充电桩在三号门旁边。")] == []
        memory.save_perception(text)
        memory.flush()
        assert memory.recall("we took the stairs.")[0].similarity == pytest.approx(1.0, abs=1e-3)
