"""Tags: one form of each, a tree of them, and what becomes of memories if a tag is renamed or removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING
from robotmem_ros.memory.errors import InvalidFieldError

from ..conftest import OpenMemory


def tree(memory: RobotMemory) -> dict[str, tuple[str, int]]:
    """The tags that callers made: the tag above each, and the memories under it."""
    with memory.parts.database.snapshot() as snapshot:
        of_rules = {tag for (tag,) in snapshot.rows("SELECT tag FROM tag_meta WHERE uuid IS NULL")}
    return {tag.tag: (tag.parent, tag.memories) for tag in memory.tags.all() if tag.tag not in of_rules}


@pytest.fixture
def kitchen(memory: RobotMemory) -> tuple[RobotMemory, int, int]:
    """A kitchen with a fridge in the tree, and a fact of each."""
    milk = memory.learn("milk stands in the fridge door", tags=["Fridge"]).memory_id
    clean = memory.learn("nobody cooks here on sundays", tags=["KITCHEN", "\uff4bitchen "]).memory_id
    memory.tags.add("Kitchen")
    memory.tags.add("fridge", "kitchen")
    return memory, milk, clean


@pytest.mark.parametrize("tag", ["KITCHEN", "Kitchen", "  kitchen ", "\uff4b\uff49tchen"])
def test_a_tag_is_the_same_however_it_is_written(kitchen: tuple[RobotMemory, int, int], tag: str) -> None:
    memory, milk, clean = kitchen
    assert {hit.id for hit in memory.recall(tags=[tag])} == {milk, clean}
    assert {hit.id for hit in memory.recall(context_filter={"tags": {"$contains": tag}})} == {milk, clean}
    memory.update(milk, add_tags=[tag])
    assert memory.get_memories([milk])[0].memory.tags == ("fridge", "kitchen")
    memory.update(milk, remove_tags=[tag])
    assert memory.get_memories([milk])[0].memory.tags == ("fridge",)


def test_a_parent_finds_its_children_and_a_child_itself(kitchen: tuple[RobotMemory, int, int]) -> None:
    memory, milk, clean = kitchen
    memory.tags.add("door", "fridge")
    door = memory.learn("the door squeaks when it is cold", tags=["door"]).memory_id
    assert {hit.id for hit in memory.recall(tags=["kitchen"])} == {milk, clean, door}
    assert {hit.id for hit in memory.recall(any_tags=["fridge", "x"])} == {milk, door}
    assert {hit.id for hit in memory.recall(tags=["kitchen", "door"])} == {door}
    assert {entry.id for entry in memory.timeline(tags=["Fridge"])} == {milk, door}
    assert tree(memory) == {"kitchen": ("", 3), "fridge": ("kitchen", 2), "door": ("fridge", 1)}
    gotcha = memory.learn("the gripper closes twice", tags=["gotcha"]).memory_id
    assert [hit.id for hit in memory.recall(tags=["experience"])] == [gotcha]


def test_a_tag_moves_and_never_stands_under_itself(kitchen: tuple[RobotMemory, int, int]) -> None:
    memory, *_ = kitchen
    for tag in ("kitchen", "KITCHEN"):
        with pytest.raises(InvalidFieldError, match="parent: 'fridge' stands under 'kitchen' itself"):
            memory.tags.add(tag, "fridge")
    with pytest.raises(InvalidFieldError, match="parent: 'fridge' stands under 'fridge' itself"):
        memory.tags.add("fridge", "Fridge")
    memory.tags.add("fridge")
    memory.tags.add("kitchen", "fridge", "The kitchen")
    assert tree(memory) == {"kitchen": ("fridge", 1), "fridge": ("", 2)}
    assert {tag.display_name for tag in memory.tags.all() if tag.tag == "kitchen"} == {"The kitchen"}


def test_a_renamed_tag_is_renamed_everywhere_and_the_history_tells(kitchen: tuple[RobotMemory, int, int]) -> None:
    memory, milk, _ = kitchen
    memory.learn("milk stands in the fridge door", tags=["cold", "fridge"])
    memory.forget(milk, "a test")
    before = memory.changes_since(BEGINNING)
    assert memory.tags.rename("fridge", "Icebox", dry_run=True) == (1, False)
    assert memory.changes_since(BEGINNING) == before
    assert memory.tags.rename("fridge", "Icebox") == (1, False)
    memory.restore(milk)
    assert tree(memory) == {"cold": ("", 1), "icebox": ("kitchen", 1), "kitchen": ("", 2)}
    assert {hit.id for hit in memory.recall(tags=["icebox"])} == {milk}
    change = next(change for change in memory.history(milk) if change.change == "update")
    assert (change.before, change.reason) == ({"tags": ["cold", "fridge"]}, "the tag 'fridge' is 'icebox' now")
    # What its learnings said is renamed as well: a correction reads them again.
    memory.update(milk, "milk stands in the door of the fridge")
    assert memory.get_memories([milk])[0].memory.tags == ("cold", "icebox")


def test_a_tag_renamed_into_another_one_is_merged(kitchen: tuple[RobotMemory, int, int]) -> None:
    memory, milk, clean = kitchen
    memory.update(clean, add_tags=["fridge"])
    memory.tags.add("door", "fridge")
    assert memory.tags.rename("fridge", "kitchen") == (2, True)
    assert tree(memory) == {"kitchen": ("", 2), "door": ("kitchen", 0)}
    assert {memory.get_memories([id_])[0].memory.tags for id_ in (milk, clean)} == {("kitchen",)}
    with pytest.raises(InvalidFieldError, match="new_tag: 'door' stands under 'kitchen', so the two cannot become"):
        memory.tags.rename("kitchen", "door")


def test_a_removed_tag_is_gone_and_those_under_it_move_up(kitchen: tuple[RobotMemory, int, int]) -> None:
    memory, milk, _ = kitchen
    memory.tags.add("door", "fridge")
    assert memory.tags.remove("FRIDGE", dry_run=True) == (1, False)
    assert memory.tags.remove("FRIDGE") == (1, False)
    assert tree(memory) == {"kitchen": ("", 1), "door": ("kitchen", 0)}
    assert memory.get_memories([milk])[0].memory.tags == ()


def test_what_cannot_be_done_names_field_and_value(kitchen: tuple[RobotMemory, int, int]) -> None:
    memory, *_ = kitchen
    with pytest.raises(InvalidFieldError, match="parent: 'kitchn' is the name of no tag; did you mean 'kitchen'"):
        memory.tags.add("shelf", "kitchn")
    with pytest.raises(InvalidFieldError, match="tag: 'fridg' is the name of no tag; did you mean 'fridge'"):
        memory.tags.rename("fridg", "x")
    with pytest.raises(InvalidFieldError, match="new_tag: 'Fridge' is the tag itself"):
        memory.tags.rename("fridge", "Fridge")
    with pytest.raises(InvalidFieldError, match="tag: '' is empty"):
        memory.tags.add("")
    for change in (memory.tags.add, memory.tags.remove):
        with pytest.raises(InvalidFieldError, match="tag: 'gotcha' is a tag that rules give"):
            change("gotcha")
    with pytest.raises(InvalidFieldError, match="tag: 'gotcha' is a tag that rules give"):
        memory.tags.rename("gotcha", "trap")


def test_the_tree_and_its_changes_are_in_the_feed(
    kitchen: tuple[RobotMemory, int, int], open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory, *_ = kitchen
    copy = open_memory(tmp_path / "copy.db")

    def follow() -> None:
        batch = memory.changes_since(BEGINNING)
        assert batch
        copy.apply(batch)

    follow()
    old = memory.changes_since(BEGINNING)
    assert tree(copy).keys() >= {"kitchen", "fridge"}
    assert {name: tree(copy)[name] for name in tree(memory)} == tree(memory)
    memory.tags.add("fridge")
    memory.tags.rename("fridge", "icebox")
    follow()
    assert tree(copy) == tree(memory) == {"kitchen": ("", 1), "icebox": ("", 1)}
    assert old
    copy.apply(old)
    assert tree(copy) == tree(memory)
    memory.tags.rename("icebox", "kitchen")
    follow()
    assert tree(copy) == tree(memory) == {"kitchen": ("", 2)}
    memory.tags.remove("kitchen")
    follow()
    assert tree(copy) == tree(memory) == {}


def test_a_change_in_the_tree_alone_is_a_revision(memory: RobotMemory) -> None:
    memory.tags.add("places")
    first = memory.changes_since(BEGINNING)
    assert first
    memory.tags.add("kitchen", "places")
    second = memory.changes_since(first.cursor)
    assert second
    assert [row["tag"] for row in second.rows] == ["kitchen"]


def test_two_files_that_turned_a_branch_around_make_no_circle(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(), open_memory(tmp_path / "other.db")
    for file in (memory, other):
        file.tags.add("a")
        file.tags.add("b")
    memory.tags.add("a", "b")
    other.tags.add("b", "a")
    batch = other.changes_since(BEGINNING)
    assert batch
    memory.apply(batch)
    learned = memory.learn("one of them", tags=["a"]).memory_id
    assert [hit.id for hit in memory.recall(tags=["a"])] == [learned]
    parents = {tag.tag: tag.parent for tag in memory.tags.all() if tag.tag in {"a", "b"}}
    assert parents != {"a": "b", "b": "a"}
