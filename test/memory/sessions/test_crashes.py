"""Sessions that a crash left open: ended at the next start, marked so, and consolidated in the background."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import MemoryNotFoundError, RobotMemory, SessionNotFoundError
from robotmem_ros.memory.consolidation import consolidation
from robotmem_ros.memory.records.session import Session

from ..children import running
from ..clock import NOW
from ..conftest import OpenMemory
from ..waiting import until

CRASHING = """
import sys
from robotmem_ros.memory import RobotMemory
memory = RobotMemory(sys.argv[1], embedding_model="", clock=lambda: int(sys.argv[2]), deduplicate=False)
started = memory.start_session({"task": {"name": "tidy"}})
memory.learn("the door is open", session_id=started.session_id, observed_at=int(sys.argv[2]) + 90 * 10**9)
for text in sys.argv[3:]:
    memory.learn(text, session_id=started.session_id, category="grasp", confidence=0.8)
print(started.session_id, flush=True)
sys.stdin.read()
"""
LESSONS = ("hold the thin glass softly", "hold the thin glass gently softly", "push the crate with 5 N")


def test_a_session_left_open_by_a_crash_is_closed_at_the_next_start_and_marked(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    with running(CRASHING, path, NOW) as process:
        assert process.stdout is not None
        session = process.stdout.readline().strip()
        beside = open_memory(path)
        assert beside.sessions()[0].is_open, "its process still runs"
        beside.close()
        process.kill()
        process.wait()
    memory = open_memory(path)
    (closed,) = memory.sessions()
    assert (closed.session_id, closed.end_reason, closed.outcome) == (session, "crashed", None)
    assert (closed.started_at, closed.duration, closed.memories) == (NOW, 90.0, 1)
    with pytest.raises(SessionNotFoundError, match="it has crashed already"):
        memory.end_session(session)
    assert memory.consolidate(session).considered == 1


def crashed(path: Path) -> str:
    """A session with these lessons whose process was killed; its id."""
    with running(CRASHING, path, NOW, *LESSONS) as process:
        assert process.stdout is not None
        session = process.stdout.readline().strip()
        process.kill()
        process.wait()
    return session


def consolidated(memory: RobotMemory) -> Session:
    """The last session once it is consolidated."""
    until(lambda: memory.sessions()[0].superseded is not None, "consolidation")
    return memory.sessions()[0]


def test_the_lessons_of_a_crashed_session_are_consolidated_at_the_next_start(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    session = crashed(path)
    memory = open_memory(path)
    found = consolidated(memory)
    assert (found.session_id, found.end_reason, found.superseded, found.memories) == (session, "crashed", 1, 3)
    grasps = {"category": "grasp"}
    assert {one.content for one in memory.recall(context_filter=grasps)} == {LESSONS[1], LESSONS[2]}
    assert memory.explain(2).reason == "consolidated, now told by 3"
    memory.restore(2)
    assert memory.explain(2).reason == ""
    assert {one.content for one in memory.recall(context_filter=grasps)} == set(LESSONS)
    memory.close()
    again = open_memory(path)
    assert again.sessions()[0].superseded == 1
    assert {one.content for one in again.recall(context_filter=grasps)} == set(LESSONS), "once is enough"


def test_who_only_looks_does_not_consolidate(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    session = crashed(path)
    looking = open_memory(path, continue_sessions=False)
    assert (looking.sessions()[0].end_reason, looking.sessions()[0].superseded) == ("crashed", None)
    assert looking.consolidate(session, dry_run=True).superseded == 1
    looking.close()
    assert consolidated(open_memory(path)).superseded == 1


def test_a_session_that_was_ended_but_not_consolidated_is_so_at_the_next_start(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path, deduplicate=False)
    session = memory.start_session().session_id
    for text in LESSONS:
        memory.learn(text, session_id=session, category="grasp", confidence=0.8)
    monkeypatch.setattr(consolidation, "plan", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.end_session(session)
    monkeypatch.undo()
    memory.close()
    found = consolidated(open_memory(path))
    assert (found.session_id, found.end_reason, found.superseded) == (session, "ended", 1)


def interrupted(*arguments: object) -> None:
    """What a consolidation meets when somebody stops the program."""
    raise KeyboardInterrupt


def test_lessons_that_wait_for_consolidation_are_spared_by_retention(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    crashed(path)
    memory = open_memory(path, continue_sessions=False, retention_rows=3)
    later = memory.learn("the lamp hangs in the hall", confidence=0.99).memory_id
    assert memory.retain().memories >= 1
    with pytest.raises(MemoryNotFoundError):
        memory.explain(later)


def test_who_only_looks_does_not_go_on_with_open_sessions(open_memory: OpenMemory) -> None:
    first = open_memory()
    session = first.start_session().session_id
    first.close()
    open_memory(continue_sessions=False).close()
    again = open_memory()
    assert (again.sessions()[0].session_id, again.sessions()[0].processes) == (session, 2)
    assert again.end_session(session).session.end_reason == "ended"
