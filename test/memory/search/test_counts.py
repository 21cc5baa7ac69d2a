"""Counting memories by what they have."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import Count, InvalidFieldError, RobotMemory
from robotmem_ros.memory.text.normal_form import label_key

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
        ("labels", [("Red Mug", 2)], [("Red Mug", 1)]),
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


def scanned(memory: RobotMemory, collection: str) -> dict[str, Counter[str]]:
    """Count by looking at each memory."""
    seen: dict[str, Counter[str]] = {name: Counter() for name in ("categories", "tags", "sessions", "labels", "kinds")}
    for one in memory.timeline(n=1000, collection=collection).entries:
        seen["categories"][one.category] += 1
        seen["sessions"][one.session_id] += 1
        seen["labels"][label_key(one.label)] += 1
        seen["kinds"][one.kind.value] += 1
        seen["tags"].update(one.tags)
    return {name: Counter({value: n for value, n in counts.items() if value}) for name, counts in seen.items()}


@pytest.mark.parametrize("shares", [(1, 0), (8, 1), (1, 1), (1, 8)])
def test_counts_are_those_of_a_scan(open_memory: OpenMemory, shares: tuple[int, int]) -> None:
    memory = open_memory(embedding_model="")
    draw = random.Random(shares[0] + 10 * shares[1])
    for n in range(150):
        where = draw.choices(("default", "lab"), weights=shares)[0]
        tags, session = draw.choices("xyz", k=draw.randint(0, 2)), draw.choice(("", "s", "t"))
        if draw.random() < 0.5:
            stored = memory.learn(
                f"fact {n}", category=draw.choice(("grasp", "place")), tags=tags, session_id=session, collection=where
            ).memory_id
        else:
            label = draw.choice(("", "mug", "Mug", "cup"))
            stored = memory.save_perception("seen", label=label, session_id=session, collection=where).memory_id
        if draw.random() < 0.3:
            memory.forget(stored, "a test")
    for collection in ("*", "default", "lab"):
        for field, expected in scanned(memory, collection).items():
            counts = memory.counts(field, collection=collection)
            found = {label_key(value) if field == "labels" else value: n for value, n in counts}
            assert found == expected, (collection, field)
            assert [one.memories for one in counts] == sorted(expected.values(), reverse=True)


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
