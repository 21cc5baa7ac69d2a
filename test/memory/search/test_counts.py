"""Counting memories by what they have."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from robotmem_ros.memory import Count, InvalidFieldError, RobotMemory
from robotmem_ros.memory.search.request import CountField
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


class Kept(NamedTuple):
    """What a test stored of a memory."""

    collection: str
    kinds: str
    categories: str = ""
    tags: tuple[str, ...] = ()
    labels: str = ""
    sessions: str = ""
    areas: str = ""


def scanned(kept: Iterable[Kept], field: str) -> Counter[str]:
    """Count by looking at each memory."""
    values = [getattr(one, field) if field != "collections" else one.collection for one in kept]
    counts = Counter(name for value in values for name in (value if isinstance(value, tuple) else (value,)))
    del counts[""]
    return counts


@pytest.mark.parametrize("shares", [(1, 0), (8, 1), (1, 1), (1, 8)])
def test_counts_are_those_of_a_scan(open_memory: OpenMemory, shares: tuple[int, int]) -> None:
    memory = open_memory(embedding_model="")
    memory.tags.add("letters")
    for tag in "xy":
        memory.tags.add(tag, "letters")
    draw, kept = random.Random(shares[0] + 10 * shares[1]), dict[int, Kept]()
    for n in range(1, 151):
        where = draw.choices(("default", "lab"), weights=shares)[0]
        tags, session = tuple({*draw.choices("xyz", k=draw.randint(1, 2))}), draw.choice(("", "s", "t"))
        if draw.random() < 0.5:
            area, category = draw.choice(("", "attic", "hall")), draw.choice(("grasp", "place"))
            fact = memory.learn(
                f"fact {n}", {"spatial": {"area": area}} if area else {}, category=category, tags=tags,
                session_id=session, collection=where,
            )  # fmt: skip
            assert fact.is_new
            kept[fact.memory_id] = Kept(where, "fact", category, tags, "", session, area)
        else:
            label = draw.choice(("", "mug", "Mug", "cup"))
            stored = memory.save_perception("seen", label=label, session_id=session, collection=where)
            kept[stored.memory_id] = Kept(where, "perception", labels=label_key(label), sessions=session)
        if draw.random() < 0.3:
            memory.forget(one := draw.choice([*kept]), "a test")
            del kept[one]
        if draw.random() < 0.05:
            memory.purge(ids=[one := draw.choice([*kept])])
            del kept[one]
        if n % 30 == 0:
            check(memory, [*kept.values()])


def check(memory: RobotMemory, kept: Sequence[Kept]) -> None:
    """Assert that the counts of a memory, and the use of its tags, are those of what was stored in it."""
    for collection in ("*", "default", "lab"):
        here = [one for one in kept if collection in {"*", one.collection}]
        for field in CountField:
            counts = memory.counts(field.value, collection=collection)
            found = {label_key(value) if field is CountField.LABELS else value: n for value, n in counts}
            assert found == scanned(here, field.value), (collection, field)
            assert [one.memories for one in counts] == sorted(found.values(), reverse=True)
        used = {tag.tag: tag.memories for tag in memory.tags.all(None if collection == "*" else collection)}
        assert used["letters"] == sum(bool({*"xy"} & {*one.tags}) for one in here)
        assert [used.get(tag, 0) for tag in "xyz"] == [sum(tag in one.tags for one in here) for tag in "xyz"]


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
