"""Sessions from start to report."""

from __future__ import annotations

import json
import uuid

import pytest

from robotmem_ros.memory import InvalidFieldError, Pose, RobotMemory, SessionNotFoundError
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.clock import NOW, SECOND, Clock, live
from ..conftest import OpenMemory


@pytest.fixture
def memory(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """Open a memory with the clock."""
    return open_memory(clock=clock)


def test_start_session_returns_a_uuid_and_the_number_of_memories(memory: RobotMemory) -> None:
    memory.learn("the door is open")
    memory.save_perception("a red mug", collection="lab")
    forgotten = memory.learn("the door is shut").memory_id
    memory.forget(forgotten, "a test")
    first = memory.start_session({"task": {"name": "tidy"}})
    assert str(uuid.UUID(first.session_id)) == first.session_id
    assert (first.collection, first.known_facts, first.known_perceptions, first.known_sessions) == ("default", 1, 0, 0)
    memory.end_session(first.session_id)
    second = memory.start_session(collection="default")
    assert second.session_id != first.session_id
    assert second.known_sessions == 1
    assert memory.start_session(collection="lab").known_perceptions == 1


def test_a_block_is_a_session_and_an_exception_its_failure(memory: RobotMemory) -> None:
    with memory.sessions.open({"task": {"name": "tidy"}}, "lab") as session:
        memory.learn("hold thin glasses with 8 N", collection="lab", session_id=session.session_id)
        session.outcome = 0.9
    assert session.report is not None
    assert (session.report.facts, session.report.session.outcome) == (1, 0.9)
    with memory.sessions.open("patrol"):
        pass
    with pytest.raises(ZeroDivisionError), memory.sessions.open("patrol") as failed:
        raise ZeroDivisionError
    assert [(one.collection, one.outcome) for one in memory.sessions.latest()] == [
        ("default", 0.0), ("default", None), ("lab", 0.9),
    ]  # fmt: skip
    assert failed.report is not None
    with pytest.raises(InvalidFieldError, match=r"^outcome_score: 9"), memory.sessions.open() as session:
        session.outcome = 9
    memory.end_session(session.session_id)


def test_a_session_that_was_ended_within_its_block_is_told_and_hides_no_exception(memory: RobotMemory) -> None:
    with pytest.raises(SessionNotFoundError), memory.sessions.open() as session:
        memory.end_session(session.session_id)
    with pytest.raises(ZeroDivisionError), memory.sessions.open() as session:
        1 / (memory.end_session(session.session_id).facts)


def test_the_context_of_a_session_may_have_64_kb(memory: RobotMemory) -> None:
    fits = {"note": "x" * (65_536 - len('{"note":""}'))}
    session_id = memory.start_session(fits).session_id
    assert json.loads(memory.sessions.latest()[0].context_json) == fits
    assert memory.sessions.latest()[0].session_id == session_id
    with pytest.raises(InvalidFieldError, match=r"context: .* at most 65536 bytes are allowed"):
        memory.start_session({"note": fits["note"] + "x"})
    with pytest.raises(InvalidFieldError, match=r"context: '\[1\]' must be a JSON object"):
        memory.start_session("[1]")
    with pytest.raises(InvalidFieldError, match="collection: 5 must be text"):
        memory.start_session(collection=5)  # type: ignore[arg-type]
    assert len(memory.sessions.latest()) == 1


def test_end_session_reports_counts_objects_and_decay(memory: RobotMemory, clock: Clock) -> None:
    memory.save_perception("an old chair", label="chair", pose=[9, 9, 0], observed_at=NOW - SECOND)
    started = memory.start_session({"task": {"name": "tidy"}})
    session = started.session_id
    for text, category in (("door a", "hazard"), ("lamp b", "grasp"), ("rug c", "grasp"), ("stair d", "navigation")):
        memory.learn(text, session_id=session, category=category)
    memory.save_perception("a smell", "tactile", session_id=session)
    clock.now += 90 * SECOND
    mugs = [_sighting(memory, "mug", x, clock.now) for x in (1.0, 5.0)]
    memory.store_sightings([*mugs, _sighting(memory, "chair", 3.0, clock.now)]).result()
    report = memory.end_session(session, 0.75)
    assert (report.session.session_id, report.session.outcome, report.session.end_reason) == (session, 0.75, "ended")
    assert (report.session.started_at, report.session.duration) == (NOW, 90.0)
    assert (report.facts, report.perceptions, report.session.memories) == (4, 1, 5)
    assert list(report.categories.items()) == [("grasp", 2), ("hazard", 1), ("navigation", 1)]
    assert list(report.objects.items()) == [("mug", 2), ("chair", 1)]
    assert report.consolidation.considered == 4
    assert memory.sessions.latest()[0] == report.session


def _sighting(memory: RobotMemory, label: str, x: float, when: int) -> NewMemory:
    return new_perception(
        memory.parameters,
        NewPerception(description=f"a {label}", label=label, pose=Pose(x, 0.0, 0.0)),
        now=lambda: when,
    )


def test_end_session_groups_similar_facts(memory: RobotMemory) -> None:
    session = memory.start_session().session_id
    for text in ("hold the thin glass softly", "hold the thin glass gently", "charge before noon"):
        memory.learn(text, session_id=session, category="grasp", confidence=0.8)
    report = memory.end_session(session)
    assert (report.consolidation.considered, report.consolidation.grouped) == (3, 1)
    assert (report.facts, report.session.memories) == (3, 3)
    contents = [found.memory.content for found in memory.recall(kinds="fact", representatives_only=True)]
    assert contents == ["charge before noon", "hold the thin glass gently"]


def test_ending_sessions_changes_no_confidence(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the door is open", confidence=0.8)
    memory.learn("never lift more than 2 kg", confidence=0.8, category="constraint")
    faded = []
    for _ in range(4):
        session = memory.start_session().session_id
        live(memory, clock, 30)
        faded.append(memory.end_session(session).decay)
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.rows("SELECT DISTINCT confidence FROM memories") == [(0.8,)]
    assert [(one.memories, one.protected, one.decayed, one.faded) for one in faded] == [
        (2, 1, 1, 0), (2, 1, 1, 0), (2, 1, 1, 0), (2, 1, 1, 1)
    ]  # fmt: skip
    assert faded[-1].mean_stored == pytest.approx(0.8)
    assert faded[-1].mean_now == pytest.approx((0.8 + 0.8 * 0.99**120) / 2)


def test_a_collection_without_memories_has_a_report_too(memory: RobotMemory) -> None:
    report = memory.end_session(memory.start_session(collection="empty").session_id)
    assert (report.facts, report.categories, report.objects, report.proactive) == (0, {}, {}, ())
    assert (report.decay.memories, report.decay.mean_now) == (0, 0.0)
    assert report.session.outcome is None


def test_ending_an_ended_or_unknown_session_is_a_clear_error(memory: RobotMemory) -> None:
    session = memory.start_session().session_id
    memory.end_session(session, 1.0)
    with pytest.raises(SessionNotFoundError, match=f"session_id: '{session}' cannot be used, it has ended already"):
        memory.end_session(session, 0.0)
    assert memory.sessions.latest()[0].outcome == 1.0
    with pytest.raises(SessionNotFoundError, match="'nobody' cannot be used, there is no such session; start one"):
        memory.end_session("nobody")


@pytest.mark.parametrize(
    ("session_id", "score", "wanted"),
    [
        ("", None, "session_id: '' is blank"),
        (5, None, "session_id: 5 must be text"),
        ("s" * 257, None, "at most 256 are allowed"),
        ("s", 1.01, r"outcome_score: 1\.01 must lie in 0 to 1"),
        ("s", -0.01, "outcome_score: -0.01 must lie"),
        ("s", float("nan"), "outcome_score: nan must be a finite number"),
        ("s", "good", "outcome_score: 'good' must be a number"),
        ("s", True, "outcome_score: True must be a number"),
    ],
)
def test_an_invalid_end_of_a_session_is_an_error(
    memory: RobotMemory, session_id: str, score: float, wanted: str
) -> None:
    memory.start_session()
    with pytest.raises(InvalidFieldError, match=wanted):
        memory.end_session(session_id, score)
    assert memory.sessions.latest()[0].is_open


def test_an_open_session_survives_a_restart(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    session = memory.start_session({"task": {"name": "tidy"}}).session_id
    memory.learn("the door is open", session_id=session)
    memory.close()
    clock.now += 60 * SECOND
    again = open_memory(clock=clock)
    (open_one,) = again.sessions.latest()
    assert (open_one.session_id, open_one.is_open) == (session, True)
    report = again.end_session(session, 1.0)
    assert (report.facts, report.session.duration, report.session.end_reason) == (1, 60.0, "ended")


def test_sessions_are_listed_latest_first(memory: RobotMemory) -> None:
    ids = [memory.start_session(collection=name).session_id for name in ("lab", "default", "lab")]
    assert [one.session_id for one in memory.sessions.latest()] == ids[::-1]
    assert [one.session_id for one in memory.sessions.latest("lab")] == [ids[2], ids[0]]
    assert [one.session_id for one in memory.sessions.latest(n=1)] == [ids[2]]


def test_sessions_work_in_a_memory_without_a_file(open_memory: OpenMemory) -> None:
    memory = open_memory(":memory:")
    session = memory.start_session().session_id
    assert memory.end_session(session, 0.5).session.outcome == 0.5
