"""Memories of other robots: asked by name, never written, and never in the way of the own memory."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, MemoryClosedError, MemoryNotFoundError, Mode, RobotMemory
from robotmem_ros.memory.errors import OtherMemoryError

from ..conftest import OpenMemory


def digest(path: Path) -> str:
    """What a file that nobody has open holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_recall_that_names_it_is_answered_from_its_file(memory: RobotMemory) -> None:
    found = memory.recall("heavy red pallet", collection="forklift")
    assert found.mode is Mode.HYBRID
    assert found[0].memory.content == "the red pallet is heavy"
    assert {one.memory.collection for one in found} == {"forklift"}
    assert {one.id for one in found} == {
        one.id for one in memory.recall(collections=["forklift"], kinds=["fact", "perception"])
    }
    assert found.brief()[0].snippet == "the **red** **pallet** is **heavy**"
    assert "mug" not in " ".join(one.memory.content for one in found)


def test_nothing_crosses_unless_it_is_named(memory: RobotMemory) -> None:
    for conditions in ({}, {"collection": "*"}, {"collections": ["*"]}):
        assert {one.memory.content for one in memory.recall("heavy red", **conditions)} == {"the red mug is heavy"}
        assert {one.snippet for one in memory.timeline(**conditions).entries} == {"the red mug is heavy"}
    assert memory.counts("collections") == (("default", 1),)
    assert [one.label for one in memory.objects()] == []
    assert memory.sessions() == ()


def test_a_timeline_and_counts_of_it_are_read_from_its_file(memory: RobotMemory) -> None:
    first = memory.timeline(collection="forklift", n=2)
    rest = memory.timeline(collection="forklift", n=2, cursor=first.cursor)
    assert [one.snippet for one in (*first.entries, *rest.entries)] == [
        "the ramp is steep", "a red pallet", "the red pallet is heavy",
    ]  # fmt: skip
    assert {one.collection for one in first.entries} == {"forklift"}
    assert memory.counts("collections", collection="forklift") == (("yard", 2), ("hall", 1))
    assert memory.density(bins=1, collection="forklift") != memory.density(bins=1)
    (session,) = memory.sessions("forklift")
    assert session.collection == "forklift"
    (ramp,) = memory.recall(collection="forklift", context_filter={"collection": "hall"})
    assert ramp.memory.content == "the ramp is steep"


def test_an_id_alone_tells_where_a_memory_is(memory: RobotMemory) -> None:
    (mine,) = memory.timeline().entries
    pallet = next(one for one in memory.timeline(collection="forklift").entries if one.label)
    assert pallet.id > 2**40
    details = memory.get_memories([pallet.id, mine.id, pallet.id + 1000])
    assert [one.memory.content for one in details] == ["a red pallet", "the red mug is heavy"]
    assert [one.memory.id for one in details] == [pallet.id, mine.id]
    assert details.reason == f"memory {pallet.id + 1000} is unknown: no memory had this id"
    assert len(details[0].sightings) == 2
    assert details[0].data == memory.data(pallet.id)
    assert memory.data(pallet.id).memory_id == pallet.id
    assert memory.object_history(pallet.id) == details[0].sightings
    assert memory.history(pallet.id) == ()
    assert [one.id for one in memory.recall(ids=[pallet.id], collection="forklift")] == [pallet.id]
    with pytest.raises(InvalidFieldError, match=r"^ids: 1 is no memory of the collection 'forklift'"):
        memory.recall(ids=[1], collection="forklift")
    with pytest.raises(MemoryNotFoundError, match=f"^memory_id: {pallet.id + 1000} "):
        memory.data(pallet.id + 1000)


@pytest.mark.parametrize("verb", ["recall", "timeline"])
def test_it_is_asked_by_itself(memory: RobotMemory, verb: str) -> None:
    for conditions in (
        {"collections": ["forklift", "default"]}, {"collection": "default", "collections": ["forklift"]},
        {"collections": ["*", "forklift"]},
    ):  # fmt: skip
        with pytest.raises(
            InvalidFieldError, match=r"^collections: 'forklift' is the memory of another robot, which is asked by"
        ):
            getattr(memory, verb)(**conditions)


def of_forklift(memory: RobotMemory) -> int:
    return memory.timeline(collection="forklift").entries[0].id


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda memory: memory.learn("a fact", collection="forklift"), "^collection: 'forklift' "),
        (lambda memory: memory.save_perception("a mug", collection="forklift"), "^collection: 'forklift' "),
        (lambda memory: memory.start_session(collection="forklift"), "^collection: 'forklift' "),
        (lambda memory: memory.consolidate("s", "forklift"), "^collection: 'forklift' "),
        (lambda memory: memory.purge(collection="forklift"), "^collection: 'forklift' "),
        (lambda memory: memory.purge(collection="forklift", dry_run=True), "^collection: 'forklift' "),
        (lambda memory: memory.forget(of_forklift(memory), "wrong"), r"^memory_id: \d+ .* it is of 'forklift'"),
        (lambda memory: memory.restore(of_forklift(memory)), r"^memory_id: \d+ .* it is of 'forklift'"),
        (lambda memory: memory.update(of_forklift(memory), "new"), r"^memory_id: \d+ .* it is of 'forklift'"),
        (lambda memory: memory.purge(ids=[of_forklift(memory)]), r"^memory_id: \d+ .* it is of 'forklift'"),
        (lambda memory: memory.explain(of_forklift(memory)), r"^memory_id: \d+ .* it is of 'forklift'"),
    ],
)  # fmt: skip
def test_what_would_write_is_refused(memory: RobotMemory, write: Callable[[RobotMemory], object], error: str) -> None:
    with pytest.raises((InvalidFieldError, MemoryNotFoundError), match=error):
        write(memory)
    assert len(memory.timeline(collection="forklift").entries) == 3


def test_asking_writes_nothing(memory: RobotMemory, other: Path) -> None:
    before = digest(other)
    for _ in range(3):
        memory.recall("heavy red pallet", collection="forklift")
        memory.get_memories([one.id for one in memory.timeline(collection="forklift").entries])
    memory.flush()
    memory.close()
    assert digest(other) == before
    with closing(sqlite3.connect(other)) as connection:
        assert connection.execute("SELECT sum(access_count) FROM memories").fetchone() == (0,)


def test_the_own_file_is_no_other_memory(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(other_memories=f"me: {tmp_path / 'memory.db'}")
    with pytest.raises(OtherMemoryError, match="is the file of this memory"):
        memory.recall("mug", collection="me")


def test_it_is_searched_by_the_parameters_of_the_own_memory(memory: RobotMemory) -> None:
    assert memory.recall("pallet", collection="forklift")
    memory.parameters = memory.parameters.changed(min_relevance=1.0)
    found = memory.recall("pallet ramp", collection="forklift")
    assert len(found) == 0
    assert "min_relevance" in found.reason


def test_a_closed_memory_asks_no_other(memory: RobotMemory) -> None:
    assert memory.timeline(collection="forklift").entries
    memory.close()
    with pytest.raises(MemoryClosedError):
        memory.timeline(collection="forklift")


def test_two_robots_are_told_apart(open_memory: OpenMemory, other: Path, tmp_path: Path) -> None:
    shutil.copy(other, tmp_path / "second.db")
    memory = open_memory(other_memories=f"forklift: {other}, second robot : {tmp_path / 'second.db'}")
    ids = [{one.id for one in memory.timeline(collection=name).entries} for name in ("forklift", "second robot")]
    assert ids[0].isdisjoint(ids[1])
    assert len(memory.get_memories([*ids[0], *ids[1]])) == 6
    with pytest.raises(InvalidFieldError, match="asked by itself"):
        memory.recall("pallet", collections=["forklift", "second robot"])


@pytest.mark.parametrize(
    "text", ["forklift", "forklift:", ": /x.db", "*: /x.db", "a: /x.db, a: /y.db", "default: /x.db", "notes: /x.db",
             "a: ~nobody-of-this-name/x.db", "a\x01: /x.db", "a: /x.db,", 7],
)  # fmt: skip
def test_a_parameter_that_cannot_be_used_is_refused(open_memory: OpenMemory, text: Any) -> None:
    with pytest.raises(InvalidFieldError, match=r"^other_memories: "):
        open_memory(other_memories=text)
