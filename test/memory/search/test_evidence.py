"""Conditions that say what, where or when: the best of what they leave is the result, however little the words fit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.argument import MAX_NAMES, MAX_QUERY, MAX_TAGS
from robotmem_ros.memory.conditions.comparison import MAX_COMPARISONS, MAX_DEPTH
from robotmem_ros.memory.embedding import Embedder

from ...support.embedders import WordVectors

GRASPS = ("12.5 N held the glass", "closed on the handle", "the plate tilted")
PICKED = {"task": {"name": "pick_place", "success": True}}


@pytest.fixture(scope="module", params=[True, False], ids=["with vectors", "by words"])
def grasps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Embedder | None]:
    """Three grasps that succeeded and one that failed, beside a hundred things in a room."""
    path, embedder = tmp_path_factory.mktemp("grasps") / "memory.db", WordVectors() if request.param else None
    with RobotMemory(path, embedder=embedder, embedding_model="") as made:
        for content in GRASPS:
            made.learn(content, PICKED, tags=["seen"])
        made.learn("the cup slipped at 8 N", {"task": {"name": "pick_place", "success": False}})
        made.save_many(
            {"description": f"box {number}", "context": {"spatial": {"area": "storage"}}, "label": "box"}
            for number in range(100)
        )
        made.flush()
    return path, embedder


@pytest.fixture
def memory(grasps: tuple[Path, Embedder | None], tmp_path: Path) -> RobotMemory:
    """A memory of these grasps that a test may change."""
    path, embedder = grasps
    copy = shutil.copyfile(path, tmp_path / "memory.db")
    return RobotMemory(copy, embedder=embedder, embedding_model="", min_relevance=0.9)


@pytest.mark.parametrize(
    ("query", "conditions", "number"),
    [
        ("pick_place", {"context_filter": {"task.success": True}}, 3),
        ("failed, why", {"context_filter": {"task.success": False}}, 1),
        ("in room", {"context_filter": {"spatial.area": "storage"}}, 5),
        ("zebra", {"labels": "box"}, 5),
        ("zebra", {"tags": "seen"}, 3),
        ("zebra", {"any_tags": "seen"}, 3),
        ("zebra", {"after": 1}, 5),
        ("zebra", {"ids": [2]}, 1),
    ],
)
def test_the_best_of_what_they_leave_is_the_result(
    memory: RobotMemory, query: str, conditions: dict[str, Any], number: int
) -> None:
    with memory:
        found = memory.recall(query, **conditions)
        assert len(found) == number
        assert not found.relevant
        assert all(one.relevance < 0.9 for one in found)
        assert len(memory.recall(query, explain=True, **conditions)) == number
        assert "nothing relevant: the best memory has relevance 0." in found.reason


@pytest.mark.parametrize("conditions", [{}, {"kinds": "fact"}, {"collection": "default"}, {"min_confidence": 0.1}])
def test_without_such_a_condition_nothing_relevant_is_nothing(memory: RobotMemory, conditions: dict[str, Any]) -> None:
    with memory:
        found = memory.recall("zebra", **conditions)
        assert not found.memories
        assert not found.relevant


def test_a_bound_of_the_caller_holds_under_any_condition(memory: RobotMemory) -> None:
    with memory:
        assert not memory.recall("zebra", labels="box", min_relevance=0.5).memories


def test_what_is_relevant_and_what_has_no_words_say_so(memory: RobotMemory) -> None:
    with memory:
        assert memory.recall("the plate tilted").relevant
        assert memory.recall(labels="box").relevant
        assert not memory.recall(labels="car").relevant


def test_the_nearest_of_what_they_leave_is_the_result(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "m.db", embedding_model="") as memory:
        for x in range(3):
            memory.save_perception(f"a cup {x}", label="cup", pose=(float(x), 0.0, 0.0))
        nearest = {"target": [2.0, 0.0, 0.0]}
        found = memory.recall("zebra", labels="cup", spatial_sort=nearest)
        assert [one.distance for one in found] == [0.0, 1.0, 2.0]
        assert not found.relevant
        assert not memory.recall("zebra", spatial_sort=nearest).memories


@pytest.mark.parametrize("query", ["***", "?!", "...", "🔥"])
def test_a_query_without_words_is_refused_as_a_fact_without_words_is(memory: RobotMemory, query: str) -> None:
    every: tuple[dict[str, Any], ...] = ({}, {"labels": "box"})
    with memory:
        for conditions in every:
            with pytest.raises(InvalidFieldError, match=r"^query: .* has no letter and no digit to search for"):
                memory.recall(query, **conditions)
        with pytest.raises(InvalidFieldError, match=r"^insight: .* has no letter and no digit"):
            memory.learn(query)


@pytest.mark.parametrize(
    ("conditions", "error"),
    [
        ({"query": "x " * MAX_QUERY}, "^query: .* at most 2000 are allowed"),
        *(({name: [f"n{one}" for one in range(MAX_NAMES + 1)]}, f"^{name}: '257 names' are too many; give at most 256")
          for name in ("labels", "tags", "any_tags", "categories", "session_ids", "collections", "areas")),
        ({"ids": range(1001)}, "^ids: '1001 ids' are too many; give at most 1000"),
        ({"context_filter": {"$or": [{"a": one} for one in range(MAX_COMPARISONS + 1)]}},
         "^context_filter: '101 comparisons' are too many; at most 100"),
        ({"context_filter": {"a": {"$in": [*range(1001)]}}}, r"^context_filter.a.\$in: '1001 values' are too many"),
    ],
)  # fmt: skip
def test_what_is_too_long_is_refused_by_the_name_of_its_field(
    memory: RobotMemory, conditions: dict[str, Any], error: str
) -> None:
    with memory, pytest.raises(InvalidFieldError, match=error):
        memory.recall(**conditions)


@pytest.mark.parametrize("join", ["$not", "$or", "$and"])
@pytest.mark.parametrize("leaf", [{"a.b": 3}, {"confidence": {"$gte": 0.1}}, {"tags": {"$contains": "x"}}])
def test_joins_may_stand_within_each_other_as_deep_as_the_error_says(
    memory: RobotMemory, join: str, leaf: dict[str, Any]
) -> None:
    def nested(depth: int) -> dict[str, Any]:
        inner = leaf if depth == 1 else nested(depth - 1)
        return {join: inner if join == "$not" else [inner, {"a.c": {"$ne": depth}}]}

    with memory:
        memory.recall("box", context_filter=nested(MAX_DEPTH), spatial_sort={"target": [0.0, 0.0]})
        with pytest.raises(InvalidFieldError, match=r"^context_filter: '9 joins' are nested too deeply; at most 8"):
            memory.recall("box", context_filter=nested(MAX_DEPTH + 1))


def test_a_memory_has_a_bounded_number_of_tags(memory: RobotMemory) -> None:
    tags = [f"t{one}" for one in range(MAX_TAGS)]
    with memory:
        fact = memory.learn("the door sticks", tags=tags).memory_id
        with pytest.raises(InvalidFieldError, match=r"^tags: '101 names' are too many; give at most 100"):
            memory.learn("the lid sticks", tags=[*tags, "more"])
        with pytest.raises(InvalidFieldError, match=r"^add_tags: '101 tags, with those that it has,' are too many"):
            memory.update(fact, add_tags=["more"])
        with pytest.raises(InvalidFieldError, match=r"^tags: '101 tags, with those that it has,' are too many"):
            memory.learn("the door sticks", tags=["more"])
