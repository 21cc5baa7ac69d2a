"""Counting memories by what they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import Count, InvalidFieldError, RobotMemory

from ..conftest import OpenMemory


@pytest.fixture
def filled(open_memory: OpenMemory, tmp_path: Path) -> RobotMemory:
    """A memory with two areas that have a polygon, and memories of two collections, one of them forgotten."""
    areas = tmp_path / "areas.yaml"
    areas.write_text(
        json.dumps({"areas": {"kitchen": [[0, 0], [4, 0], [4, 4], [0, 4]], "hall": [[9, 9], [8, 9], [8, 8]]}})
    )
    memory = open_memory(embedding_model="", areas_file=str(areas))
    memory.learn("a", category="grasp", tags=["x", "y"], session_id="s")
    memory.learn("b", category="grasp", tags=["x"], session_id="t", collection="lab")
    memory.learn("c", {"spatial": {"area": "attic"}}, category="place", tags=[], session_id="t")
    memory.save_perception("d", label="Red Mug", pose=(1, 1, 0), as_object=False)
    memory.save_perception("e", label="red  mug", pose=(1, 2, 0), as_object=False, collection="lab")
    gone = memory.learn("f", category="gone", tags=["gone"], session_id="gone", collection="gone").memory_id
    memory.forget(gone, "a test")
    return memory


@pytest.mark.parametrize(
    ("field", "of_all", "of_lab"),
    [
        ("collections", [("default", 3), ("lab", 2)], [("lab", 2)]),
        ("kinds", [("fact", 3), ("perception", 2)], [("fact", 1), ("perception", 1)]),
        ("categories", [("grasp", 2), ("place", 1)], [("grasp", 1)]),
        ("tags", [("x", 2), ("y", 1)], [("x", 1)]),
        ("labels", [("Red Mug", 2)], [("red  mug", 1)]),
        ("sessions", [("t", 2), ("s", 1)], [("t", 1)]),
        ("areas", [("kitchen", 2), ("attic", 1)], [("kitchen", 1)]),
    ],
)
def test_active_memories_are_counted_largest_first(
    filled: RobotMemory, field: str, of_all: list[tuple[str, int]], of_lab: list[tuple[str, int]]
) -> None:
    assert filled.counts(field) == tuple(Count(*one) for one in of_all)
    assert filled.counts(field, collection="*") == filled.counts(field)
    assert filled.counts(field, collection="lab") == tuple(Count(*one) for one in of_lab)
    assert filled.counts(field, collection="unknown") == ()
    assert filled.counts(field, n=1) == (Count(*of_all[0]),)


@pytest.mark.parametrize("name", ["categories", "tags", "labels", "areas"])
def test_a_counted_value_is_the_condition_that_finds_as_many(filled: RobotMemory, name: str) -> None:
    for value, memories in filled.counts(name):
        conditions: dict[str, Any] = {name: value}
        assert len(filled.timeline(collection="*", **conditions).entries) == memories


def test_an_empty_memory_has_no_counts(memory: RobotMemory) -> None:
    for field in ("collections", "categories", "tags", "labels", "areas", "sessions", "kinds"):
        assert memory.counts(field) == ()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [("field", {"field": "colours"}), ("field", {"field": None}), ("n", {"field": "tags", "n": "all"}),
     ("collection", {"field": "tags", "collection": 7})],
)  # fmt: skip
def test_bad_input_is_named(memory: RobotMemory, field: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{field}: "):
        memory.counts(**arguments)
