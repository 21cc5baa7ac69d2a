"""What to know next time, against its formula over all facts."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.search.result import RecallResult
from robotmem_ros.memory.sessions.proactive import EVIDENCE, LEAST_FIT, LEAST_SHARE, LIKENESS, UNRATED, context_words

from ...support.clock import DAY, NOW, Clock, live
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
    collection = memory.sessions.latest(n=1)[0].collection
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
    _, bad = episode(memory, kitchen, 0.5, "the left drawer sticks")
    _, good = episode(memory, kitchen, 1.0, "the glasses stand above the sink")
    _, unrated = episode(memory, kitchen, None, "the bin opens by a pedal", confidence=0.91)
    _, elsewhere = episode(memory, hall, 1.0, "the door swings inwards")
    assert offered(memory, kitchen) == [*good, *unrated, *bad]
    assert offered(memory, hall) == elsewhere


def test_a_session_that_is_about_nothing_known_is_offered_nothing(memory: RobotMemory) -> None:
    robot = {"robot": "carrier-2"}
    for number in range(12):
        task = ("tidy the kitchen", "guide a visitor", "carry the linen")[number % 3]
        episode(memory, {**robot, "task": task}, 1.0, f"shelf {number} wobbles")
    assert offered(memory, {}) == []
    assert offered(memory, robot) == [], "all sessions share it, so it says nothing"
    assert offered(memory, {**robot, "task": "zebra xylophone quantum"}) == []
    assert offered(memory, {**robot, "task": "guide the visitors"}) != []


def test_what_is_learned_perceived_and_recalled_in_a_session_says_what_it_is_about(memory: RobotMemory) -> None:
    _, dock = episode(memory, {}, 1.0, "Dock Alpha needs two attempts when the floor is wet")
    _, cup = episode(memory, {}, 1.0, "The glass cup slips below 6 N")
    for begin, expected in (("dock alpha", dock), ("glass cup", cup)):
        session = memory.start_session({}).session_id
        memory.learn(f"The {begin} is grey", session_id=session)
        assert [fact.id for fact in memory.end_session(session).proactive][:1] == expected
        session = memory.start_session({}).session_id
        memory.save_perception(f"Near the {begin}", session_id=session)
        assert [fact.id for fact in memory.end_session(session).proactive][:1] == expected
        session = memory.start_session({}).session_id
        assert memory.recall(begin, n=1, kinds="fact").memories
        assert expected[0] in [fact.id for fact in memory.end_session(session).proactive]


@pytest.mark.parametrize(
    "withdraw",
    [lambda memory, fact: memory.forget(fact, "a test"), lambda memory, fact: memory.purge(ids=[fact])],
    ids=["forgotten", "purged"],
)
def test_a_fact_that_goes_while_a_session_ends_is_left_out_of_its_report(
    memory: RobotMemory, withdraw: Callable[[RobotMemory, int], object]
) -> None:
    _, (kept, gone) = episode(
        memory, {"task": "open the red door"}, 1.0, "the red door opens to the left", "the red door is heavy"
    )
    session = memory.start_session({"task": "open the red door"}).session_id
    memory.save_perception("the red door", session_id=session)
    left = {kept, gone}

    def recall(query: str, n: int, **conditions: Any) -> RecallResult:
        result = memory.recall(query, n, **conditions)
        if {kept, gone} <= {one.id for one in result} and gone in left:
            withdraw(memory, gone)
            left.remove(gone)
        return result

    report = memory.parts.sessions.end(session, 0.8, memory.decay(), recall)
    assert left == {kept}
    assert [fact.id for fact in report.proactive] == [kept]


def test_facts_learned_outside_any_session_are_offered_too(memory: RobotMemory) -> None:
    outside = memory.learn("The bin of the kitchen opens by a pedal").memory_id
    episode(memory, {"task": "guide a visitor to the lab"}, 1.0, "the lab has a lathe")
    assert offered(memory, {"task": "empty the kitchen bin"}) == [outside]


@pytest.mark.parametrize("words", ["yesterday", "last week", "昨天"])
def test_when_something_was_says_nothing_of_when_what_helps_was_learned(memory: RobotMemory, words: str) -> None:
    outside = memory.learn("The bin of the kitchen opens by a pedal").memory_id
    assert offered(memory, {"task": f"empty the kitchen bin that was full {words}"}) == [outside]
    session = memory.start_session({}).session_id
    memory.save_perception(f"the bin of the kitchen was full {words}", session_id=session)
    assert [fact.id for fact in memory.end_session(session).proactive] == [outside]
    assert [fact.id for fact in memory.sessions.prepare(f"empty the kitchen bin that was full {words}")] == [outside]


def test_only_facts_from_outside_the_session_but_of_its_collection_are_offered(
    memory: RobotMemory, clock: Clock
) -> None:
    context = {"task": "open the bin"}
    _, known = episode(memory, context, 1.0, "the bin opens by a pedal")
    episode(memory, context, 1.0, "the bin has a lid", collection="lab")
    session = memory.start_session(context).session_id
    memory.learn("the bin is full", session_id=session)
    memory.save_perception("a bin", session_id=memory.sessions.latest(n=2)[1].session_id)
    report = memory.end_session(session, 1.0)
    assert [fact.id for fact in report.proactive] == known
    assert [fact.score for fact in report.proactive] == [1.0]
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.row("SELECT max(access_count) FROM memories") == (0,), "an offer is no recall"
    live(memory, clock, 200)
    assert offered(memory, context) == [], "what has faded is not offered"


@pytest.mark.parametrize("seed", range(5))
def test_the_facts_that_are_offered_are_those_of_the_greatest_worth(
    memory: RobotMemory, clock: Clock, seed: int
) -> None:
    draw = random.Random(seed)
    things, rooms = ["bin", "door", "mug", "lamp"], ["kitchen", "lab", "hall"]
    sessions: dict[str, tuple[frozenset[str], float]] = {}
    facts: dict[int, tuple[str, float]] = {}
    for number in range(12):
        context = {"task": f"fetch the {draw.choice(things)}", "room": draw.choice(rooms), "n": draw.randint(0, 2)}
        outcome = draw.choice((None, 0.0, 0.5, 1.0, draw.random()))
        confidence, days = draw.uniform(0.2, 0.9), draw.choice((0, 10, 80))
        clock.now = NOW - days * DAY
        texts = [f"the {draw.choice(things)} {number} {index} is heavy" for index in range(draw.randint(0, 2))]
        session, ids = episode(memory, context, outcome, *texts, confidence=confidence)
        sessions[session] = context_words(json.dumps(context)), UNRATED if outcome is None else outcome
        facts |= dict.fromkeys(ids, (session, 0.0))
    clock.now = NOW
    sure = {one.memory.id: one.memory.confidence for one in memory.get_memories(facts)}
    facts = {one: (session, sure[one]) for one, (session, _) in facts.items() if sure[one] >= 0.3}
    asked = {"task": "carry the bin and the mug", "room": "lab", "n": 1}
    found = offered(memory, asked)  # before a recall refreshes what it finds
    in_lab = sum("lab" in known for known, _ in sessions.values())
    text = "carry the bin and the mug" if 2 * in_lab > len(sessions) else "carry the bin and the mug\nlab"
    relevance = {one.id: one.relevance for one in memory.recall(text, n=100, min_confidence=0.0)}
    words = context_words(json.dumps(asked))
    worth = {}
    for one, (session, now) in facts.items():
        known, outcome = sessions[session]
        idf = {
            word: math.log(1 + (len(sessions) - n + 0.5) / (n + 0.5))
            for word in known
            for n in [sum(word in other for other, _ in sessions.values())]
        }
        likeness = sum(idf[word] for word in known & words) / (1 + sum(idf.values()))
        of_session = [relevance.get(fact, 0.0) for fact, other in _sessions_of(memory).items() if other == session]
        evidence = sum(sorted(of_session)[-3:]) / 3
        fit = (relevance.get(one, 0.0) + EVIDENCE * evidence + LIKENESS * likeness) / (1 + EVIDENCE + LIKENESS)
        if fit >= LEAST_FIT:
            worth[one] = fit * now * (1 + outcome) / 2
    best = sorted(worth, key=lambda one: (-round(worth[one], 12), -one))[:5]
    assert found == [one for one in best if worth[one] >= LEAST_SHARE * worth[best[0]]]


def test_the_words_of_a_context_are_those_of_its_texts_and_its_other_values_with_their_paths() -> None:
    context = '{"task": {"name": "Tidy the bins", "tools": ["broom", 2]}, "room": 3, "done": true}'
    assert context_words(context) == {"tidi", "bin", "broom", "task.tools=2", "room=3", "done=true"}
    assert context_words("{}") == frozenset()


def _sessions_of(memory: RobotMemory) -> dict[int, str]:
    with memory.parts.database.snapshot() as snapshot:
        return dict(snapshot.rows("SELECT id, session_id FROM memories"))
