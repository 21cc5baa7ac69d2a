"""A collection has the same names at every door: `*` means all where a request only reads, and is no name."""

from __future__ import annotations

from collections.abc import Callable
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


def test_white_space_around_the_default_collection_is_no_part_of_it() -> None:
    assert Parameters(collection=" lab ").collection == "lab"
