"""Proactive recall, against its formula over all facts."""

from __future__ import annotations

import json
import random

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.sessions.proactive import json_values, similarity

from ...support.clock import DAY, NOW, Clock
from ..conftest import OpenMemory


@pytest.fixture
def memory(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """Open a memory with the clock."""
    return open_memory(clock=clock)


def episode(
    memory: RobotMemory, context: object, outcome: float | None, *facts: str, **more: object
) -> tuple[str, list[int]]:
    """Run a session that learns facts; return its id and theirs."""
    session = memory.start_session(context, more.pop("collection", None)).session_id  # type: ignore[arg-type]
    collection = memory.sessions(n=1)[0].collection
    ids = [
        memory.learn(fact, session_id=session, collection=collection, **more).memory_id  # type: ignore[arg-type]
        for fact in facts
    ]
    memory.end_session(session, outcome)
    return session, ids


def offered(memory: RobotMemory, context: object) -> list[int]:
    """Return the proactive facts at the end of a session with this context."""
    report = memory.end_session(memory.start_session(context).session_id)  # type: ignore[arg-type]
    return [fact.id for fact in report.proactive]


def test_similar_contexts_come_first_and_better_outcomes_before_worse_ones(memory: RobotMemory) -> None:
    kitchen, hall = {"task": {"name": "tidy"}, "room": "kitchen"}, {"task": {"name": "guide"}, "room": "hall"}
    _, bad = episode(memory, kitchen, 0.0, "the left drawer sticks")
    _, good = episode(memory, kitchen, 1.0, "the glasses stand above the sink")
    _, unrated = episode(memory, kitchen, None, "the bin opens by a pedal")
    _, elsewhere = episode(memory, hall, 1.0, "the door swings inwards")
    assert offered(memory, kitchen) == [*good, *unrated, *bad, *elsewhere]
    assert offered(memory, hall)[0] == elsewhere[0]


def test_only_facts_of_other_sessions_of_the_collection_are_proactive(memory: RobotMemory, clock: Clock) -> None:
    _, known = episode(memory, {"a": 1}, 1.0, "the bin opens by a pedal")
    episode(memory, {"a": 1}, 1.0, "the lab has a lathe", collection="lab")
    session = memory.start_session({"a": 1}).session_id
    memory.learn("of this session", session_id=session)
    memory.learn("of no session")
    memory.save_perception("a mug", session_id=memory.sessions(n=2)[1].session_id)
    report = memory.end_session(session, 1.0)
    assert [fact.id for fact in report.proactive] == known
    assert [fact.score for fact in report.proactive] == [1.0]
    clock.now += 200 * DAY
    assert offered(memory, {"a": 1}) == [], "what has faded is not offered"
    with memory._database.reader() as connection:
        assert connection.execute("SELECT max(access_count) FROM memories").fetchone() == (0,), "nor is offering recall"


@pytest.mark.parametrize("seed", range(5))
def test_the_proactive_facts_are_those_of_the_greatest_worth(memory: RobotMemory, clock: Clock, seed: int) -> None:
    draw = random.Random(seed)
    worth: dict[int, float] = {}
    contexts = [
        {"room": draw.choice("abc"), "task": {"name": draw.choice("xy"), "n": draw.randint(0, 2)}} for _ in range(30)
    ]
    asked = json_values(json.dumps(contexts[0]))
    for number, context in enumerate(contexts):
        outcome = draw.choice((None, 0.0, 0.5, 1.0, draw.random()))
        confidence = draw.uniform(0.2, 0.9)
        days = draw.choice((0, 10, 80))
        clock.now = NOW - days * DAY
        texts = [f"fact {number} {index}" for index in range(draw.randint(0, 2))]
        _, ids = episode(memory, context, outcome, *texts, confidence=confidence)
        now = confidence * 0.99**days
        common = len(asked & json_values(json.dumps(context)))
        like = (1 + common) / (1 + 6 - common)
        if now >= 0.3:
            worth |= dict.fromkeys(ids, now * like * (1 + (0.5 if outcome is None else outcome)) / 2)
    clock.now = NOW
    best = sorted(worth, key=lambda memory_id: (-round(worth[memory_id], 12), -memory_id))[:5]
    assert offered(memory, contexts[0]) == best


def test_similarity_of_contexts_is_jaccards_with_one_value_that_all_share() -> None:
    one = json_values('{"task": {"name": "tidy", "tools": [1, 2]}, "room": "kitchen"}')
    assert one == {("task.name", '"tidy"'), ("task.tools", "[1, 2]"), ("room", '"kitchen"')}
    assert similarity(one, one) == 1.0
    assert similarity(one, json_values("{}")) == 0.25
    assert similarity(one, json_values('{"room": "kitchen", "task": {"name": 1}}')) == 2 / 5
    assert similarity(json_values("{}"), json_values("{}")) == 1.0
