"""The id of an object that became a part of another one: every call that gets it names the one that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from robotmem_ros.memory import MemoryNotFoundError, RobotMemory

from ...support.consistency import check
from ...support.sightings import SECOND, see, sighting


def mug(memory: RobotMemory, x: float, second: int) -> int:
    stored = memory.save_perception("a mug", label="mug", pose=(x, 0.0, 0.0), observed_at=second * SECOND)
    return stored.memory_id


@pytest.fixture
def memory() -> Iterator[RobotMemory]:
    """Object 2 became a part of 1, and 1 one of 3."""
    with RobotMemory(":memory:", embedding_model="") as opened:
        assert [mug(opened, 0.0, second) for second in (100, 101)] == [1, 1]
        assert mug(opened, 5.0, 102) == 2
        assert [mug(opened, 10.0, 110 + second) for second in range(6)] == [3] * 6
        for moved_id, x, second in ((2, 0.0, 120), (1, 10.0, 130)):
            opened.update(moved_id, pose=(x, 0.0, 0.0))
            mug(opened, x, second)
        yield opened


CALLS: dict[str, Callable[[RobotMemory, int], object]] = {
    "update": lambda memory, old_id: memory.update(old_id, label="cup"),
    "forget": lambda memory, old_id: memory.forget([3, old_id], "gone"),
    "restore": lambda memory, old_id: memory.restore(old_id),
    "data": lambda memory, old_id: memory.data(old_id),
    "object_history": lambda memory, old_id: memory.object_history(old_id),
}


@pytest.mark.parametrize("old_id", [1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_cannot_use_an_old_id_names_the_new_one(memory: RobotMemory, name: str, old_id: int) -> None:
    with pytest.raises(MemoryNotFoundError, match=rf"memory_id: {old_id} cannot be used, .*(replaced by|object) 3\b"):
        CALLS[name](memory, old_id)
    assert [memory_object.memory_id for memory_object in memory.objects()] == [3]


@pytest.mark.parametrize("old_id", [1, 2])
def test_what_reads_an_old_id_names_the_new_one(memory: RobotMemory, old_id: int) -> None:
    why = "the same object, replaced by 3"
    assert why in memory.get_memories([old_id]).reason
    assert memory.get_memories([old_id], include_forgotten=True)[0].status_reason == why
    assert why in memory.recall(ids=[old_id]).reason
    assert memory.explain(old_id).reason == why
    assert (memory.history(old_id)[0].change, memory.history(old_id)[0].reason) == ("superseded", why)


@pytest.mark.parametrize(("saved_at", "number"), [(20.0, 1), (20.05, 1), (20.3, 2)])
def test_what_was_saved_and_moved_to_one_place_is_one(memory: RobotMemory, saved_at: float, number: int) -> None:
    other_id = mug(memory, saved_at, 200)
    memory.update(3, pose=(20.0, 0.0, 0.0))
    mugs = memory.recall(labels="mug", spatial_sort=(20.0, 0.0, 0.0), n=9).memories
    assert [found.id for found in mugs] == [3, other_id][:number]
    memory.parts.database.write(check).result()
    if number == 1:
        assert mugs[0].times_seen == 12
        assert "replaced by 3" in memory.get_memories([other_id]).reason


def test_two_things_of_one_message_stay_two_wherever_they_are_moved() -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        first, second = see(memory, sighting(0.0, t=100), sighting(1.0, t=100))
        memory.update(second, pose=(0.0, 0.0, 0.0))
        assert memory.get_memories([first, second]).reason == ""


def test_what_the_robot_carried_is_moved_by_update_and_seen_at_its_new_place(memory: RobotMemory) -> None:
    memory.update(3, pose=(20.0, 0.0, 0.0), reason="carried")
    (carried,) = memory.recall(labels="mug", spatial_sort=(10.0, 0.0, 0.0)).memories
    assert (carried.id, carried.pose[:3]) == (3, (20.0, 0.0, 0.0))  # type: ignore[index]
    assert mug(memory, 20.1, 200) == 3
