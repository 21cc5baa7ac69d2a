"""Who said a memory: the word of its context, else the door; and what a fact is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING
from robotmem_ros.memory.errors import InvalidFieldError

from .conftest import OpenMemory


def test_the_word_of_the_context_goes_before_that_of_the_door(open_memory: OpenMemory) -> None:
    memory = open_memory(source="planner")
    of_door = memory.learn("the lift is slow").memory_id
    of_context = memory.save_perception("the lift is fast", context={"source": " operator "}).memory_id
    no_name = memory.learn("the lift is loud", {"source": {"camera": 2}}).memory_id
    sources = {entry.memory.id: entry.memory.source for entry in memory.get_memories([of_door, of_context, no_name])}
    assert sources == {of_door: "planner", of_context: "operator", no_name: "planner"}
    found = memory.recall("lift", context_filter={"source": {"$in": ["operator", "service"]}})
    assert [hit.id for hit in found] == [of_context]
    assert [hit.id for hit in memory.recall("lift", context_filter={"context.source.camera": 2})] == [no_name]


def test_a_program_that_does_not_tell_has_no_source(memory: RobotMemory) -> None:
    memory.learn("the lift is slow")
    (found,) = memory.recall("lift", context_filter={"source": {"$exists": False}})
    assert found.memory.source == ""


def test_the_same_fact_from_two_doors_is_one_and_keeps_the_first_source(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for source in ("service", "agent"):
        with RobotMemory(path, embedding_model="", source=source) as memory:
            learned = memory.learn("the lift stops at floor 3", {"task": "patrol"})
            assert learned.is_new == (source == "service")
            (details,) = memory.get_memories([learned.memory_id])
            assert (details.memory.source, details.memory.context["task"]) == ("service", "patrol")


def test_a_corrected_context_that_names_a_source_changes_it(memory: RobotMemory) -> None:
    learned = memory.learn("the lift is slow", {"source": "operator"}).memory_id
    memory.update(learned, context={"floor": 3})
    assert memory.get_memories([learned])[0].memory.source == "operator"
    memory.update(learned, context={"source": "technician"})
    assert memory.get_memories([learned])[0].memory.source == "technician"
    assert memory.history(learned)[0].before["source"] == "operator"


def test_files_and_names_that_a_fact_is_about_are_returned_and_filter(memory: RobotMemory) -> None:
    files, names = ["my notes.md", "src/arm.py"], ["lab 3", "夹爪"]
    learned = memory.learn("the arm is bent", scope_files=files, scope_entities=names)
    memory.learn("the arm is straight, see arm.py")
    for filter_, expected in (
        ({"scope_files": {"$contains": "my notes.md"}}, [learned.memory_id]),
        ({"scope_files": {"$contains": "notes.md"}}, []),
        ({"scope_entities": {"$contains": "夹爪"}, "source": {"$exists": False}}, [learned.memory_id]),
        ({"$not": {"scope_files": {"$exists": True}}}, []),
    ):
        assert [hit.id for hit in memory.recall("arm", context_filter=filter_)] == expected, filter_
    (details,) = memory.get_memories([learned.memory_id])
    assert (details.memory.scope_files, details.memory.scope_entities) == (tuple(files), tuple(names))
    assert details.memory.to_dict()["scope_files"] == files
    with pytest.raises(InvalidFieldError, match="cannot be compared with scope_files, a list"):
        memory.recall("arm", context_filter={"scope_files": "arm.py"})


def test_a_copy_has_the_same_source(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, copy = open_memory(source="planner"), open_memory(tmp_path / "copy.db")
    memory.learn("the lift is slow", scope_files=["a b.py"])
    batch = memory.changes_since(BEGINNING)
    assert batch
    copy.apply(batch)
    (found,) = copy.recall("lift")
    assert (found.memory.source, found.memory.scope_files) == ("planner", ("a b.py",))


def test_the_file_has_each_name_on_a_line(memory: RobotMemory) -> None:
    memory.learn("one", scope_files=["b c.py", "a.py"])
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.row("SELECT scope_files, context FROM memories") == ("a.py\nb c.py", json.dumps({}))
