"""Ctrl-C may come at any moment of what a memory does, and leaves nothing taken for ever."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from robotmem_ros.memory.threads import Calls, Condition

from ...support.forks import output_of

PROGRAM = """
import signal, sys, threading, time
from contextlib import suppress
from robotmem_ros.memory import RobotMemory

def interrupt(*_):
    raise KeyboardInterrupt

memory = RobotMemory(sys.argv[1], embedding_model="", synchronous="normal")
database, maintenance = memory.parts.database, memory.parts.maintenance
priority = database.query_priority
signal.signal(signal.SIGALRM, interrupt)
count, end = 0, time.monotonic() + 60
while count < {times} and time.monotonic() < end:
    with suppress(KeyboardInterrupt):  # a second one, on a busy machine
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.5)  # again, since a finalizer swallows what is raised in it
            while True:
                {work}
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            count += 1
assert count > 50, f"interrupted {{count}} times only"
assert not priority._queries and not maintenance._flushes
memory.save_perception("a red mug")
assert len(memory.recall("mug")) == 1
memory.close()
print("closed")
"""
WORKS = {
    "write": "database.write(lambda transaction: None)",
    "read": "with database.snapshot(): pass",
    "query": "with priority.query(): pass",
    "flush": "maintenance.flush()",
    "wait": "database.write(lambda transaction: None).result()",
    "thread": "memory.parts.threads.submit(int).result()",
}


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
@pytest.mark.parametrize("times", [500, pytest.param(5000, marks=pytest.mark.rare)])
def test_interrupts_at_any_moment_leave_nothing_taken(tmp_path: Path, work: str, times: int) -> None:
    assert output_of(PROGRAM.format(work=work, times=times), tmp_path / "memory.db") == "closed\n"


class InterruptedCondition(Condition):
    """Raises what Ctrl-C does, in place of the notification."""

    def notify_all(self) -> None:
        """Notify nobody."""
        raise KeyboardInterrupt


def test_the_end_of_a_call_is_seen_though_it_does_not_come_to_notify() -> None:
    calls = Calls(InterruptedCondition())
    waiting = threading.Thread(target=calls.wait, daemon=True)
    with suppress(KeyboardInterrupt), calls.running():
        waiting.start()
    waiting.join(60)
    assert not waiting.is_alive()


def test_a_wait_for_calls_ends_with_its_time() -> None:
    calls = Calls()
    with calls.running(), calls.running():
        calls.wait(0.01)
        assert calls
    assert not calls
