"""What was said just now has no vector yet; it is found by its words none the worse for that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.embedders import Borrowed, HeldVectors


@pytest.fixture
def late() -> Iterator[tuple[RobotMemory, HeldVectors]]:
    """A memory in which only a red mug, far away, has its vector, and the model that owes it that of a blue one."""
    model = HeldVectors("blue")
    with RobotMemory(":memory:", embedder=Borrowed(model), decay_rate=0.0, min_relevance=0.0) as memory:
        memory.save_perception("red mug", pose=[9, 0, 0])
        memory.flush()
        memory.save_perception("blue mug", pose=[1, 0, 0])
        yield memory, model
        model.release.set()


def distances(memory: RobotMemory, query: str) -> list[tuple[str, float | None]]:
    found = memory.recall(query, spatial_sort={"target": [0, 0, 0]})
    return [(one.memory.content, one.distance) for one in found]


def test_the_nearest_result_may_be_a_memory_without_a_vector(late: tuple[RobotMemory, HeldVectors]) -> None:
    memory, _ = late
    assert memory.status().pending_vectors == 1
    assert distances(memory, "mug") == [("blue mug", 1.0), ("red mug", 9.0)]
    assert distances(memory, "shiny mug") == [("blue mug", 1.0), ("red mug", 9.0)]


def test_a_memory_without_a_vector_and_without_a_word_of_the_query_does_not_match(
    late: tuple[RobotMemory, HeldVectors],
) -> None:
    memory, _ = late
    assert [content for content, _ in distances(memory, "shiny kettle")] == ["red mug"]


def test_the_order_of_results_stays_when_a_pending_vector_arrives(late: tuple[RobotMemory, HeldVectors]) -> None:
    memory, model = late
    before = [one.memory.content for one in memory.recall("mug blue")]
    model.release.set()
    memory.flush()
    assert before == [one.memory.content for one in memory.recall("mug blue")] == ["blue mug", "red mug"]
