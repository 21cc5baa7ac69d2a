"""What was forgotten can be restored, and what was changed can be read as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage import rows
from robotmem_ros.memory.storage.changes import MAX_CHANGES

from ..support.examples import examples

HERE = {"field": "position", "target": [0.0, 0.0, 0.0]}


def found(memory: RobotMemory, query: str = "mug", **conditions: Any) -> list[str]:
    """The contents that a recall gives."""
    return [one.memory.content for one in memory.recall(query, **conditions)]


def test_a_restored_memory_is_found_again_by_word_meaning_place_and_condition(memory: RobotMemory) -> None:
    mug = memory.save_perception("red mug", pose=[1, 2, 3], context={"room": "kitchen"}).memory_id
    memory.flush()
    before = memory.recall("red mug")[0]
    memory.forget(mug, "a test")
    assert found(memory) == found(memory, "", spatial_sort=HERE) == found(memory, "", session_id="s") == []
    memory.restore(mug)
    memory.flush()
    assert memory.recall("red mug")[0] == before
    assert found(memory, "", spatial_sort=HERE) == found(memory, "", context_filter={"room": "kitchen"}) == ["red mug"]
    status = memory.status()
    assert (status.memories, status.pending_vectors) == (1, 0)


def test_a_superseded_memory_can_be_restored(memory: RobotMemory) -> None:
    old, new = (memory.learn(f"mug {number}").memory_id for number in range(2))
    superseded = {"status": "superseded", "superseded_by": new}
    memory.parts.database.write(lambda connection: rows.update(connection, old, superseded)).result()
    memory.restore(old)
    assert sorted(found(memory)) == ["mug 0", "mug 1"]
    (change,) = memory.history(old)
    assert (change.change, change.before) == ("restore", {"status": "superseded", "superseded_by": new})


def test_an_id_that_cannot_be_restored_is_reported_with_the_reason(memory: RobotMemory) -> None:
    mug = memory.learn("mug").memory_id
    with pytest.raises(MemoryNotFoundError, match=f"memory_id: {mug} cannot be used, it is active; there is"):
        memory.restore(mug)
    with pytest.raises(MemoryNotFoundError, match="memory_id: 99 cannot be used, there is no such memory"):
        memory.restore(99)
    with pytest.raises(InvalidFieldError, match="memory_id: '1' must be a whole number"):
        memory.restore("1")  # type: ignore[arg-type]


def test_an_object_that_became_part_of_another_cannot_be_restored(memory: RobotMemory) -> None:
    ids = []
    for place in ([0, 0, 0], [5, 5, 0]):
        new = new_perception(
            memory.parameters, NewPerception(description="a cup", label="cup", pose=place), now=lambda: 1
        )
        ids.append(memory.store_sightings([new]).result()[0].memory_id)
    from robotmem_ros.memory.storage import object_rows

    memory.parts.database.write(lambda connection: object_rows.supersede(connection, ids[0], by=ids[1])).result()
    with pytest.raises(MemoryNotFoundError, match=f"it became a part of object {ids[1]}, which has its sightings"):
        memory.restore(ids[0])


def test_a_forgotten_object_keeps_its_sightings_until_it_is_restored(memory: RobotMemory) -> None:
    new = new_perception(
        memory.parameters, NewPerception(description="a cup", label="cup", pose=[0, 0, 0]), now=lambda: 1
    )
    cup = memory.store_sightings([new]).result()[0].memory_id
    seen = memory.object_history(cup)
    memory.forget(cup, "a test")
    with pytest.raises(MemoryNotFoundError, match="there is no such object"):
        memory.object_history(cup)
    memory.restore(cup)
    assert memory.object_history(cup) == seen != ()


def test_the_history_tells_what_was_done_when_why_and_what_was_before(memory: RobotMemory) -> None:
    mug = memory.learn("red mug", {"a": 1}, category="x", tags=["one", "two"], confidence=0.5).memory_id
    assert memory.history(mug) == ()
    memory.update(mug, "blue mug", context={"a": 2}, tags=["two"], confidence=0.5)
    memory.update(mug, category="y")
    memory.forget(mug, "it broke")
    memory.restore(mug)
    changes = memory.history(mug)
    assert [(one.change, one.reason, one.before) for one in changes] == [
        ("restore", "it broke", {"status": "invalidated"}),
        ("forget", "it broke", {}),
        ("update", "", {"category": "x"}),
        ("update", "", {"content": "red mug", "context": '{"a":1}', "tags": ["one", "two"]}),
    ]
    times = [one.changed_at for one in changes]
    assert times == sorted(times, reverse=True)
    assert all(one.endswith("+00:00") for one in times)


def test_a_correction_that_changes_nothing_leaves_no_history(memory: RobotMemory) -> None:
    mug = memory.learn("red mug", tags=["a"]).memory_id
    memory.update(mug, "red mug", tags=["a"])
    assert memory.history(mug) == ()


def test_the_history_of_what_is_forgotten_can_be_read_and_that_of_what_never_was_cannot(memory: RobotMemory) -> None:
    mug = memory.learn("red mug").memory_id
    memory.forget(mug, "a test")
    assert [one.change for one in memory.history(mug)] == ["forget"]
    with pytest.raises(MemoryNotFoundError, match="memory_id: 7 cannot be used, there is no such memory"):
        memory.history(7)


def test_the_latest_changes_are_kept(memory: RobotMemory) -> None:
    mugs = [memory.learn("mug 0").memory_id for _ in range(2)]
    for number in range(MAX_CHANGES + 10):
        for mug in mugs:
            memory.update(mug, f"mug {number + 1}")
    for mug in mugs:
        kept = [one.before["content"] for one in memory.history(mug)]
        assert kept == [f"mug {number}" for number in range(MAX_CHANGES + 9, 9, -1)]


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.sampled_from(("red mug", "blue mug", "红色杯子")),
        "human_summary": st.sampled_from(("a", "b")),
        "category": st.sampled_from(("x", "y")),
        "confidence": st.sampled_from((0.25, 0.5)),
        "tags": st.lists(st.sampled_from("abc"), unique=True).map(sorted),
    },
)


@settings(max_examples=examples(40))
@given(corrections=st.lists(FIELDS.filter(bool), max_size=8))
def test_every_earlier_state_can_be_told_from_the_history(corrections: list[dict[str, Any]]) -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        mug = memory.learn("red mug", category="x", confidence=0.5).memory_id

        def state() -> dict[str, object]:
            (now,) = memory.recall("", context_filter={"id": mug}, min_confidence=0.0).memories
            return {
                "content": now.content, "human_summary": now.human_summary, "category": now.category,
                "confidence": now.confidence, "tags": list(now.tags),
            }  # fmt: skip

        states = [state()]
        for correction in corrections:
            memory.update(mug, **correction)
            if state() != states[-1]:
                states.append(state())
        told = [states[-1]]
        for change in memory.history(mug):
            told.append({**told[-1], **change.before})
        assert told == states[::-1]


def test_the_history_tells_why_a_memory_was_corrected(memory: RobotMemory) -> None:
    fact = memory.learn("a grip force of 12 N holds a glass").memory_id
    mug = memory.save_perception("a mug").memory_id
    memory.update(fact, "a grip force of 15 N holds a glass", reason="measured again")
    memory.update(mug, label="cup", reason=" it has no handle ")
    assert [memory.history(one)[0].reason for one in (fact, mug)] == ["measured again", "it has no handle"]
    with pytest.raises(InvalidFieldError, match="give at least one field"):
        memory.update(mug, reason="nothing to do")
