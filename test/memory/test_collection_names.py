"""A collection has the same names at every door: `*` means all where a request only reads, and is no name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from robotmem_ros.memory import InvalidFieldError, Parameters, RobotMemory

Request = Callable[[RobotMemory, str], object]
WRITES: dict[str, Request] = {
    "learn": lambda memory, name: memory.learn("the door sticks", collection=name),
    "save_perception": lambda memory, name: memory.save_perception("a mug", collection=name),
    "start_session": lambda memory, name: memory.start_session(collection=name),
    "consolidate": lambda memory, name: memory.sessions.consolidate("a session", name, dry_run=True),
    "purge": lambda memory, name: memory.purge(collection=name, dry_run=True),
}
READS: dict[str, Request] = {
    "recall": lambda memory, name: memory.recall("mug", collection=name),
    "recall of several": lambda memory, name: memory.recall("mug", collections=[name]),
    "timeline": lambda memory, name: memory.timeline(collection=name),
    "counts": lambda memory, name: memory.counts("tags", collection=name),
    "density": lambda memory, name: memory.density(collection=name),
    "sessions": lambda memory, name: memory.sessions.latest(name),
}


@pytest.mark.parametrize("name", ["a/b*", "*lab", "\x7f", "lab\x7f", "\u200b"])
@pytest.mark.parametrize("door", [*WRITES, *READS])
def test_a_bad_name_is_refused_by_every_request(memory: RobotMemory, door: str, name: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^collections?: '.*' (contains|has only)"):
        {**WRITES, **READS}[door](memory, name)
    assert memory.status().memories == 0


@pytest.mark.parametrize("door", WRITES)
def test_all_collections_can_be_read_and_not_written(memory: RobotMemory, door: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^collection: '\*' contains `\*`, which means all collections"):
        WRITES[door](memory, "*")


def test_a_star_reads_all_collections(memory: RobotMemory) -> None:
    memory.learn("the door sticks", collection="lab")
    memory.learn("the lift is slow", collection="office")
    memory.start_session(collection="lab")
    assert len(memory.timeline(collection="*").entries) == 2
    assert memory.counts("kinds", collection="*") == (("fact", 2),)
    assert len(memory.sessions.latest("*")) == 1


@pytest.mark.parametrize("name", ["*", "a/b*", "", "  ", "\x7f", "c" * 300])
def test_a_bad_name_is_refused_as_parameter(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^collection: "):
        RobotMemory(tmp_path / "memory.db", collection=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("notes_folders", ("*=/notes",)),
        ("fleet_collections", "a*"),
        ("retention_budgets", "a*: 5 rows"),
        ("retention_budgets", "a*/fact: 5 rows"),
    ],
)
def test_a_bad_name_is_refused_in_other_parameters(parameter: str, value: object) -> None:
    with pytest.raises(InvalidFieldError, match=rf"^{parameter}: '.*\*' contains `\*`"):
        Parameters().changed(**{parameter: value})


STORES = ("learn", "save_perception", "start_session")


@pytest.mark.parametrize(
    "name",
    ["a,b", "a;b", "!x", "a/b", "a\\b", "a:b", "a=b", "a?b", "a#b", "50%", "<b>", "a|b", '"a"', "-x", ".", "..", "~a"],
)
@pytest.mark.parametrize("door", STORES)
def test_a_name_that_means_something_else_in_a_list_or_path_is_no_new_one(
    memory: RobotMemory, door: str, name: str
) -> None:
    with pytest.raises(
        InvalidFieldError, match=r"^collection: .* (contains|begins with) '.{1,2}', which .*; name it with"
    ):
        WRITES[door](memory, name)
    with pytest.raises(InvalidFieldError, match=r"^collection: .* (contains|begins with) '.{1,2}', which"):
        Parameters().changed(collection=name)
    assert (memory.status().memories, memory.sessions.latest("*")) == (0, ())


@pytest.mark.parametrize(
    "name", ["lab", "lab-2", "Küche 3", "site.floor_2", "厨房", "a!b", "it's", "a&b", "(old)", "x~"]
)
@pytest.mark.parametrize("door", STORES)
def test_other_names_can_be_stored_into(memory: RobotMemory, door: str, name: str) -> None:
    WRITES[door](memory, name)
    assert READS["recall"](memory, name) is not None


@pytest.mark.parametrize("name", ["a,b", "!x", "a/b", "-x"])
def test_what_an_earlier_version_stored_under_such_a_name_is_read_and_deleted(memory: RobotMemory, name: str) -> None:
    memory.learn("the door sticks", collection="lab")
    session = memory.start_session(collection="lab").session_id
    batch = memory.changes_since()
    assert batch is not None
    rows = tuple({**row, "collection": name} if "collection" in row else row for row in batch.rows)
    with RobotMemory(memory.path.with_name("old.db"), embedding_model="") as old:
        old.apply(replace(batch, rows=rows))
        assert [hit.memory.collection for hit in old.recall("door", collection=name)] == [name]
        assert old.counts("collections") == ((name, 1),)
        assert len(old.timeline(collection=name).entries) == 1
        old.sessions.prepare("door", collection=name)
        old.end_session(session, 1.0)
        old.sessions.consolidate(session, name)
        assert old.purge(collection=name).memories == 1


def test_white_space_around_the_default_collection_is_no_part_of_it() -> None:
    assert Parameters(collection=" lab ").collection == "lab"
