"""What a repetition adds to a fact is kept, explained, corrected, and purged with its session."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Memory, RobotMemory

from ...support.consistency import check
from ...support.examples import examples

LAB = "the lab is closed to robots at night"


def the_fact(memory: RobotMemory) -> Memory:
    """Return the only memory."""
    (found,) = memory.recall(context_filter={"id": {"$exists": True}}, min_confidence=0.0)
    return found.memory


def test_a_fact_becomes_a_constraint_when_it_is_learned_again_as_one(memory: RobotMemory) -> None:
    first = memory.learn(LAB)
    assert first.category == "observation_event"
    again = memory.learn(
        LAB, category="constraint", confidence=0.4, human_summary="lab closed", scope_files=["lab.md"],
        scope_entities=["lab 3"], tags=["night shift"], session_id="s2",
    )  # fmt: skip
    found = the_fact(memory)
    assert (again.status, again.category, again.confidence) == ("duplicate", "constraint", 0.4)
    assert again.tags == found.tags == tuple(sorted({*first.tags, "night shift"}))
    assert (found.category, found.confidence, found.human_summary) == ("constraint", 0.4, "lab closed")
    assert [one.id for one in memory.recall("lab.md")] == [first.memory_id]
    explained = memory.explain(first.memory_id)
    rules = {(one.field, one.value): one.rule for one in explained.decisions}
    assert rules["category", "constraint"] == rules["tag", "night shift"] == rules["confidence", "0.4"] == "repetition"
    assert rules["scope_files", "lab.md"] == "repetition"
    (repetition,) = explained.repetitions
    assert repetition.session_id == "s2"
    assert repetition.gave == {
        "category": "constraint", "confidence": 0.4, "human_summary": "lab closed", "scope_files": "lab.md",
        "scope_entities": "lab 3", "tags": ("night shift",),
    }  # fmt: skip
    (change,) = memory.history(first.memory_id)
    assert (change.change, change.before["category"], change.before["human_summary"]) == (
        "repetition", "observation_event", "",
    )  # fmt: skip


def test_the_newer_of_two_given_values_holds_and_the_history_has_the_older(memory: RobotMemory) -> None:
    memory_id = memory.learn(LAB, category="note", confidence=0.9, human_summary="closed").memory_id
    assert memory.learn(LAB, category="constraint", confidence=0.5).confidence == 0.5
    assert memory.learn(LAB).category == "constraint"
    assert the_fact(memory).human_summary == "closed"
    (change,) = memory.history(memory_id)
    assert change.before == {"category": "note", "confidence": 0.9}


def test_a_repetition_that_adds_nothing_makes_no_history(memory: RobotMemory) -> None:
    memory_id = memory.learn(LAB, {"shift": 3}, category="constraint", tags=["a"]).memory_id
    memory.learn(LAB, {"shift": 3}, category="constraint", tags=["a"])
    assert memory.history(memory_id) == ()
    rules = {one.field: one.rule for one in memory.explain(memory_id).decisions}
    assert (rules["category"], rules["tag"]) == ("caller", "caller")


def test_values_of_a_repetition_stay_when_the_text_is_corrected(memory: RobotMemory) -> None:
    memory_id = memory.learn("Hold the glass with 5 N").memory_id
    memory.learn("Hold the glass with 5 N", {"arm": "left"}, category="mine", tags=["x"], scope_files=["a.py"])
    memory.update(memory_id, "Hold the glass with 6 N")
    found = the_fact(memory)
    assert found.context == {"arm": "left", "params": {"force": {"value": 6, "unit": "N"}}}
    assert (found.category, "x" in found.tags) == ("mine", True)
    assert [one.id for one in memory.recall("a.py")] == [memory_id]


def test_a_correction_replaces_values_of_a_repetition(memory: RobotMemory) -> None:
    memory_id = memory.learn(LAB, session_id="s1").memory_id
    memory.learn(LAB, {"arm": "left"}, "s2", category="mine", tags=["x"], human_summary="closed", confidence=0.4)
    memory.update(
        memory_id, context={"arm": "right"}, category="constraint", tags=["y"], human_summary="shut", confidence=0.7
    )
    for _ in range(2):
        found = the_fact(memory)
        assert (found.context, found.category, found.tags) == ({"arm": "right"}, "constraint", ("y",))
        assert (found.human_summary, found.confidence) == ("shut", 0.7)
        memory.purge(session_id="s2")


def test_more_than_a_hundred_repetitions_are_kept_if_each_adds_something(memory: RobotMemory) -> None:
    for number in range(130):
        memory.learn(LAB, {f"key {number}": 1} if number < 120 else None, session_id=f"s{number}")
    assert len(memory.explain(1).repetitions) == 119
    memory.purge(session_id="s7")
    assert set(the_fact(memory).context) == {f"key {number}" for number in range(120) if number != 7}


GIVEN = st.fixed_dictionaries(
    {"session_id": st.sampled_from(("a", "b", "c"))},
    optional={
        "context": st.dictionaries(st.sampled_from(("arm", "robot", "shift")), st.just(1)).map(
            lambda inner: {"env": inner, **inner}
        ),
        "category": st.sampled_from(("x", "y")),
        "confidence": st.sampled_from((0.4, 0.6)),
        "human_summary": st.sampled_from(("short", "shorter")),
        "tags": st.lists(st.sampled_from(("t", "u", "v"))),
        "scope_files": st.lists(st.sampled_from(("f.py", "g.py"))),
        "observed_at": st.integers(1, 9),
    },
)


@pytest.mark.slow
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(lessons=st.lists(GIVEN, min_size=2, max_size=7), gone=st.sampled_from(("a", "b")))
def test_purging_a_session_leaves_a_fact_as_the_other_sessions_alone_would_have(
    lessons: list[dict[str, Any]], gone: str
) -> None:
    with (
        RobotMemory(":memory:", embedding_model="", clock=lambda: 5) as memory,
        RobotMemory(":memory:", embedding_model="", clock=lambda: 5) as expected,
    ):
        for one in lessons:
            assert memory.learn(LAB, **one).memory_id == 1
            if one["session_id"] != gone:
                expected.learn(LAB, **one)
        memory.purge(session_id=gone)
        assert memory.status().facts == expected.status().facts
        if not expected.status().facts:
            return
        found, wanted = the_fact(memory), the_fact(expected)
        for name in ("context", "category", "tags", "human_summary", "observed_at", "session_id"):
            assert getattr(found, name) == getattr(wanted, name)
        assert found.confidence == pytest.approx(wanted.confidence)
        told, meant = memory.explain(1), expected.explain(1)
        assert set(told.decisions) == set(meant.decisions)
        assert told.times_learned == meant.times_learned
        assert [one.gave for one in told.repetitions] == [one.gave for one in meant.repetitions]
        memory.parts.database.write(check).result()
