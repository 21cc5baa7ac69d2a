"""Reading memories in full, by their ids."""

from __future__ import annotations

from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory


def test_memories_come_in_the_order_of_their_ids_and_each_once(memory: RobotMemory) -> None:
    ids = [memory.save_perception(f"thing {n}").memory_id for n in range(3)]
    found = memory.get_memories([ids[2], ids[0], 999, ids[2], ids[1]])
    assert [one.memory.id for one in found] == [ids[2], ids[0], ids[1]]
    assert found.reason == "memory 999 is unknown: no memory had this id"
    assert (len(memory.get_memories([])), memory.get_memories(ids[0]).reason) == (0, "")
    assert memory.get_memories(iter(ids))[0].memory.content == "thing 0"


def test_a_memory_comes_with_all_that_is_kept_beside_it(memory: RobotMemory) -> None:
    mug = memory.save_perception("a mug", data=b"\1\2", metadata={"format": "raw"}, label="mug", pose=(1, 2, 0.8))
    for n in range(120):
        memory.save_perception("a mug", label="mug", pose=(1, 2, 0.8), observed_at=10**18 + n * 10**10)
    fact = memory.learn("a glass needs 12.5 N", tags=["glass"]).memory_id
    memory.update(fact, "a glass needs 13 N")
    memory.update(fact, category="grasp")
    of_mug, of_fact = memory.get_memories([mug.memory_id, fact])
    assert (of_mug.status, of_mug.status_reason, of_mug.history) == ("active", "", ())
    assert of_mug.memory.times_seen == 121
    assert of_mug.sightings == memory.object_history(mug.memory_id, 100)
    assert len(of_mug.sightings) <= 100
    assert of_mug.data == memory.data(mug.memory_id)
    assert (of_fact.data, of_fact.sightings) == (None, ())
    assert of_fact.history == memory.history(fact)
    assert of_fact.memory.tags == memory.recall("glass")[0].memory.tags


def test_what_was_forgotten_is_read_only_if_asked_for(memory: RobotMemory) -> None:
    gone = memory.learn("a mistake", tags=["t"]).memory_id
    memory.forget(gone, "wrong")
    purged = memory.learn("a secret").memory_id
    memory.purge(ids=[purged])
    nothing = memory.get_memories([gone, purged, 0])
    assert len(nothing) == 0
    assert nothing.reason.split("; memory ") == [
        f"memory {gone} is invalidated (wrong); include_forgotten reads it", f"{purged} was deleted",
        "0 is unknown: no memory had this id",
    ]  # fmt: skip
    (found,) = memory.get_memories([gone], include_forgotten=True)
    assert (found.memory.content, found.status, found.status_reason) == ("a mistake", "invalidated", "wrong")
    assert [one.change for one in found.history] == ["forget"]


@pytest.mark.parametrize("ids", ["17", [1.5], [True], ["1"], range(101), [2**70], {"a": 1}])
def test_ids_that_cannot_be_used_are_refused(memory: RobotMemory, ids: Any) -> None:
    with pytest.raises(InvalidFieldError, match=r"^ids: "):
        memory.get_memories(ids)


def test_only_true_and_false_tell_whether_forgotten_ones_are_wanted(memory: RobotMemory) -> None:
    wrong: Any = "yes"
    with pytest.raises(InvalidFieldError, match=r"^include_forgotten: "):
        memory.get_memories([1], include_forgotten=wrong)
