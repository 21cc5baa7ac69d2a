"""What to know before a task, without a session."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import InvalidFieldError

from ...support.clock import Clock
from ..conftest import OpenMemory


@pytest.fixture
def memory(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """Open a memory with the clock, and three episodes."""
    memory = open_memory(clock=clock)
    for task, fact, outcome in [
        ("guide a visitor", "the door swings inwards", 1.0),
        ("tidy the kitchen", "the left drawer sticks", 0.0),
        ("tidy the kitchen", "the glasses stand above the sink", 1.0),
    ]:
        session = memory.start_session({"task": task}).session_id
        memory.learn(fact, session_id=session)
        memory.end_session(session, outcome)
    return memory


def test_a_task_is_prepared_as_the_end_of_a_session_about_it_would_be(memory: RobotMemory) -> None:
    ended = memory.end_session(memory.start_session({"task": "tidy the kitchen"}).session_id)
    told = memory.sessions.prepare("tidy the kitchen")
    assert [fact.id for fact in told] == [fact.id for fact in ended.proactive]
    assert told[0].memory.content == "the glasses stand above the sink"
    assert memory.sessions.prepare("tidy the kitchen", 0) == ()
    assert memory.sessions.prepare("zebra xylophone quantum") == ()
    assert memory.sessions.prepare("tidy the kitchen", collection="elsewhere") == ()


def test_the_bound_for_answers_to_questions_hides_nothing_that_fits_a_task(memory: RobotMemory) -> None:
    told = memory.sessions.prepare("tidy the kitchen")
    memory.parameters = memory.parameters.changed(min_relevance=1.0)
    assert memory.sessions.prepare("tidy the kitchen") == told
    memory.learn("the sponge lies beside the sink")
    told = memory.sessions.prepare("wash up with the sponge before the visitors come")
    assert told[0].memory.content == "the sponge lies beside the sink"


def test_preparing_begins_no_session_and_uses_nothing(memory: RobotMemory) -> None:
    memory.sessions.prepare("tidy the kitchen")
    memory.recall("door", count_usage=False)
    memory.flush()
    assert len(memory.sessions.latest()) == 3
    assert len(memory.recall(context_filter={"access_count": 0}, kinds="fact")) == 3
    memory.recall("door")
    memory.flush()
    assert len(memory.recall(context_filter={"access_count": 0}, kinds="fact")) < 3


@pytest.mark.parametrize("task", ["", " ", 5, "x" * 3000])
def test_a_task_that_cannot_be_used_is_named(task: object, memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"^task: "):
        memory.sessions.prepare(task)  # type: ignore[arg-type]
