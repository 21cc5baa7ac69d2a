"""A correction classifies, tags, embeds and indexes again; values of the caller stay, and the history has the rest."""

from __future__ import annotations

import json
import sqlite3

import pytest

from robotmem_ros.memory import MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.storage.connection import register_functions

from ...support.consistency import check_file

COLD = "The cup slipped because the fingers were wet at 5 N"


def tags(memory: RobotMemory) -> set[tuple[str, str]]:
    with sqlite3.connect(memory.path) as connection:
        found = set(connection.execute("SELECT t.key, t.value FROM memories, json_each(tags) AS t"))
    connection.close()
    return found


def test_a_new_text_is_classified_tagged_and_indexed_again(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD).memory_id
    memory.flush()
    memory.update(memory_id, "Mr. Okafor prefers the door in room 12 open at 0.4 m/s")
    memory.flush()
    found = memory.recall("okafor")[0]
    assert (found.id, found.memory.category) == (memory_id, "preference")
    assert "preference" in found.memory.tags
    assert "root_cause" not in found.memory.tags
    assert found.memory.context == {"params": {"speed": {"value": 0.4, "unit": "m/s"}}}
    assert memory.recall("cup slipped").mode.value == "vec_only"
    assert memory.recall(context_filter={"params.force.value": 5}).memories == ()
    assert {source for _, source in tags(memory)} == {"auto"}
    assert check_file(memory.path) == 1


def test_values_of_the_caller_stay_when_the_text_changes(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD, {"params": {"own": 1}}, category="mine", tags=["x"], confidence=0.5).memory_id
    memory.update(memory_id, "Mr. Okafor prefers 0.4 m/s")
    found = memory.recall("okafor")[0]
    assert (found.memory.category, found.memory.tags, found.memory.confidence) == ("mine", ("x",), 0.5)
    assert found.memory.context == {"params": {"own": 1}}
    assert tags(memory) == {("x", "user")}


def test_values_of_a_correction_survive_the_next_correction(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD).memory_id
    memory.update(memory_id, category="mine", tags=[], confidence=0.5)
    memory.update(memory_id, "Mr. Okafor prefers tea")
    found = memory.recall("okafor")[0]
    assert (found.memory.category, found.memory.tags, found.memory.confidence) == ("mine", (), 0.5)
    rules = {decision.field: decision.rule for decision in memory.explain(memory_id).decisions}
    assert (rules["category"], rules["confidence"], rules["tag"]) == ("caller", "caller", "caller")


def test_a_new_context_keeps_the_parameters_of_the_text(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD).memory_id
    memory.update(memory_id, context={"task": {"success": False}})
    force = {"value": 5, "unit": "N"}
    assert memory.recall("cup")[0].memory.context == {"task": {"success": False}, "params": {"force": force}}
    memory.update(memory_id, context={"params": {"own": 2}})
    memory.update(memory_id, "no number here")
    assert memory.recall("number")[0].memory.context == {"params": {"own": 2}}


def test_the_history_of_a_memory_can_be_read(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD, human_summary="wet", tags=["b", "a"]).memory_id
    first = memory.recall("cup")[0]
    memory.update(memory_id, "The cup is dry")
    memory.update(memory_id, human_summary="dry")
    memory.update(memory_id, tags=["c"])
    third, second, one = memory.history(memory_id)
    assert {change.change for change in (one, second, third)} == {"update"}
    assert (one.before["content"], json.loads(str(one.before["context"]))) == (COLD, first.memory.context)
    assert one.before["category"] == "root_cause"
    assert "tags" not in one.before
    assert (second.before, third.before) == ({"human_summary": "wet"}, {"tags": ["a", "b"]})
    assert one.changed_at <= second.changed_at <= third.changed_at
    memory.forget(memory_id, "a test")
    assert len(memory.history(memory_id)) == 4


def test_a_correction_that_is_refused_leaves_no_trace(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD).memory_id
    before = memory.explain(memory_id)
    memory.forget(memory_id, "a test")
    with pytest.raises(MemoryNotFoundError):
        memory.update(memory_id, "other")
    assert memory.explain(memory_id).decisions == before.decisions
    assert [change.change for change in memory.history(memory_id)] == ["forget"]


def test_a_perception_that_is_corrected_keeps_its_history_and_is_not_classified(memory: RobotMemory) -> None:
    memory_id = memory.save_perception("a red mug").memory_id
    memory.update(memory_id, "a blue mug because of 5 N", category="c")
    found = memory.recall("blue mug")[0]
    assert (found.memory.category, found.memory.context) == ("c", {})
    (change,) = memory.history(memory_id)
    assert change.before["content"] == "a red mug"


def test_a_fact_that_was_never_classified_keeps_its_values_when_corrected(memory: RobotMemory) -> None:
    memory_id = memory.learn(COLD, category="old").memory_id
    with sqlite3.connect(memory.path) as connection:
        register_functions(connection)
        connection.execute("UPDATE memories SET decisions = NULL")
    connection.close()
    memory.update(memory_id, "Mr. Okafor prefers 5 N")
    found = memory.recall("okafor")[0]
    assert (found.memory.category, found.memory.context["params"]) == ("old", {"force": {"value": 5, "unit": "N"}})


def test_an_unknown_memory_cannot_be_explained(memory: RobotMemory) -> None:
    with pytest.raises(MemoryNotFoundError, match=r"^memory_id: 7 cannot be used, there is no such memory"):
        memory.explain(7)
