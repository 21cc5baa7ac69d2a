"""Ctrl-C may come at any moment of a write, and leaves nothing locked."""

from __future__ import annotations

from pathlib import Path

from ...support.subprocesses import output_of

PROGRAM = """
import signal, sys, threading, time
from robotmem_ros.memory import RobotMemory

def interrupt(*_):
    raise KeyboardInterrupt

memory = RobotMemory(sys.argv[1], embedding_model="", synchronous="normal")
database = memory.parts.database
signal.signal(signal.SIGALRM, interrupt)
count, end = 0, time.monotonic() + 3
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0007)
        while True:
            database.write(lambda transaction: None)
    except KeyboardInterrupt:
        count += 1
signal.setitimer(signal.ITIMER_REAL, 0)
database.write(lambda transaction: None).result(60)
memory.close()
print("all written" if count > 50 else f"interrupted {count} times only")
"""


def test_interrupts_at_any_moment_leave_no_lock_taken(tmp_path: Path) -> None:
    assert output_of(PROGRAM, tmp_path / "memory.db") == "all written\n"
