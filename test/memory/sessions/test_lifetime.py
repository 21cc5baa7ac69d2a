"""Sessions survive the process that started them, and are closed at their longest duration."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory, SessionNotFoundError
from robotmem_ros.memory.models import Session
from robotmem_ros.memory.sessions import consolidation

from ...support.clock import DAY, NOW, SECOND, Clock
from ...support.forks import running
from ...support.waiting import until
from ..conftest import OpenMemory

CRASHING = """
import sys
from robotmem_ros.memory import RobotMemory
memory = RobotMemory(sys.argv[1], embedding_model="", clock=lambda: int(sys.argv[2]), deduplication="off")
started = memory.start_session({"task": {"name": "tidy"}}, max_duration=float(sys.argv[3]))
for text in sys.argv[4:]:
    memory.learn(text, session_id=started.session_id, category="grasp", confidence=0.8)
print(started.session_id, flush=True)
sys.stdin.read()
"""
FACTS = ("hold the thin glass softly", "Hold the thin glass softly!", "push the crate with 5 N")
GRASPS = {"category": "grasp"}
LIMIT = 600.0


def crashed(path: Path) -> str:
    """Run a session with these facts whose process was killed; return its id."""
    with running(CRASHING, path, NOW, LIMIT, *FACTS) as process:
        session = process.stdout.readline().strip()
        process.kill()
        process.wait()
    return session


def closed(memory: RobotMemory) -> Session:
    """Wait until the last session is closed and consolidated, and return it."""
    until(lambda: memory.sessions.latest()[0].superseded is not None, "consolidation")
    return memory.sessions.latest()[0]


def test_a_session_survives_a_kill_of_its_process(open_memory: OpenMemory, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    session = crashed(path)
    clock.now += 60 * SECOND
    memory = open_memory(path, clock=clock)
    (found,) = memory.sessions.latest()
    assert (found.session_id, found.is_open, found.memories, found.superseded) == (session, True, 3, None)
    memory.learn("the door is open", session_id=session)
    report = memory.end_session(session, 0.75)
    assert (report.session.end_reason, report.session.duration, report.session.outcome) == ("ended", 60.0, 0.75)
    assert (report.facts, report.consolidation.superseded) == (3, 1)


def test_a_session_stays_open_when_the_memory_is_opened_again(open_memory: OpenMemory, clock: Clock) -> None:
    first = open_memory(clock=clock)
    session = first.start_session().session_id
    for _ in range(2):
        beside = open_memory(clock=clock)
        assert beside.sessions.latest()[0].is_open
        beside.close()
    assert first.end_session(session).session.end_reason == "ended"


def test_a_session_is_closed_and_consolidated_at_its_longest_duration(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "memory.db"
    session = crashed(path)
    clock.now += DAY
    found = closed(open_memory(path, clock=clock))
    assert (found.session_id, found.end_reason, found.duration, found.outcome) == (session, "expired", LIMIT, None)
    assert (found.superseded, found.memories) == (1, 3 - 1)
    (said,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert session in said
    assert "end_session still accepts its outcome" in said


def test_a_fact_superseded_in_the_background_can_be_restored(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    crashed(path)
    clock.now += DAY
    memory = open_memory(path, clock=clock)
    closed(memory)
    assert {one.memory.content for one in memory.recall(context_filter=GRASPS)} == {FACTS[1], FACTS[2]}
    assert memory.explain(1).reason == "consolidated, replaced by 2"
    memory.restore(1)
    assert {one.memory.content for one in memory.recall(context_filter=GRASPS, fold=False)} == set(FACTS)
    memory.close()
    again = open_memory(path, clock=clock)
    assert again.sessions.latest()[0].superseded == 1
    assert {one.memory.content for one in again.recall(context_filter=GRASPS, fold=False)} == set(FACTS), (
        "once is enough"
    )


def test_a_session_expires_while_the_memory_is_open(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, session_max_duration=LIMIT)
    memory.start_session()
    clock.now += round(LIMIT) * SECOND - 1
    other = memory.start_session().session_id
    memory.end_session(other)
    assert memory.sessions.latest()[1].is_open
    clock.now += 1
    until(lambda: not memory.sessions.latest()[1].is_open, "end of the session")
    assert (memory.sessions.latest()[1].end_reason, memory.sessions.latest()[1].duration) == ("expired", LIMIT)


def test_starting_a_session_closes_expired_ones(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, session_maintenance=False)
    memory.start_session(max_duration=LIMIT)
    lasting = memory.start_session().session_id
    clock.now += round(LIMIT) * SECOND
    started = memory.start_session()
    assert started.known_sessions == 1
    assert [one.is_open for one in memory.sessions.latest()] == [True, True, False]
    assert memory.sessions.latest()[1].session_id == lasting


def test_an_expired_session_accepts_its_outcome_once(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    recalled = memory.learn("the door is open").memory_id
    session = memory.start_session(max_duration=LIMIT).session_id
    assert len(memory.recall("door")) == 1
    memory.flush()
    clock.now += DAY
    later = memory.learn("the lamp is on", session_id=session).memory_id
    closed(memory)
    assert [one.id for one in memory.recall(context_filter={"id": later})] == [later]
    report = memory.end_session(session, 0.5)
    assert (report.session.end_reason, report.session.outcome, report.facts) == ("ended", 0.5, 1)
    assert report.session.duration == LIMIT, "what came later is no part of it"
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.rows("SELECT memory_id, total FROM memory_outcomes") == [(recalled, 0.5)]
    with pytest.raises(SessionNotFoundError, match="it has ended already"):
        memory.end_session(session, 1.0)


def test_the_end_of_an_expired_session_is_the_same_whether_or_not_it_was_closed(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory(clock=clock, session_maintenance=False)
    session = memory.start_session(max_duration=LIMIT).session_id
    clock.now += DAY
    assert memory.sessions.latest()[0].is_open
    ended = memory.end_session(session, 1.0).session
    assert (ended.end_reason, ended.duration, ended.outcome) == ("ended", LIMIT, 1.0)


def test_the_longest_duration_is_the_one_given_at_the_start(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, session_max_duration=0)
    memory.start_session()
    memory.start_session(max_duration=20 * 86_400)
    assert [one.expires_at for one in memory.sessions.latest()] == [NOW + 20 * DAY, None]
    clock.now += 10 * DAY
    open_memory(clock=clock, session_max_duration=1.0).start_session()
    assert [one.is_open for one in memory.sessions.latest()] == [True, True, True]


def test_a_session_has_no_limit_while_the_clock_is_zero(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=Clock(0))
    memory.start_session(max_duration=1.0)
    assert memory.sessions.latest()[0].expires_at is None


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(-1.0, "must lie in 0 to"), (float("inf"), "must be a finite number"), ("long", "must be a number")],
)
def test_an_invalid_longest_duration_is_an_error(memory: RobotMemory, given: float, wanted: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"max_duration: .* {wanted}"):
        memory.start_session(max_duration=given)
    assert memory.sessions.latest() == ()


def test_a_read_only_memory_neither_closes_nor_consolidates_sessions(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    session = crashed(path)
    clock.now += DAY
    looking = open_memory(path, clock=clock, session_maintenance=False)
    assert looking.sessions.latest()[0].is_open
    assert looking.sessions.consolidate(session, dry_run=True).superseded == 1
    looking.close()
    assert closed(open_memory(path, clock=clock)).superseded == 1


def test_a_session_ended_without_consolidation_is_consolidated_at_the_next_start(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path, deduplication="off")
    session = memory.start_session().session_id
    for text in FACTS:
        memory.learn(text, session_id=session, category="grasp", confidence=0.8)
    monkeypatch.setattr(consolidation, "plan", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.end_session(session)
    monkeypatch.undo()
    memory.close()
    found = closed(open_memory(path))
    assert (found.session_id, found.end_reason, found.superseded) == (session, "ended", 1)


def interrupted(*arguments: object) -> None:
    """Raise the error of a program that is stopped."""
    raise KeyboardInterrupt


def test_retention_keeps_facts_that_wait_for_consolidation(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    crashed(path)
    memory = open_memory(path, session_maintenance=False, max_memories=3)
    later = memory.learn("the lamp hangs in the hall", confidence=0.99).memory_id
    memory.retain()  # unless the memory's own maintenance came first
    with pytest.raises(MemoryNotFoundError):
        memory.explain(later)
    assert {one.memory.content for one in memory.recall(context_filter=GRASPS, fold=False)} == set(FACTS)
