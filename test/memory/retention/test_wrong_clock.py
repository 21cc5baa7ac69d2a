"""What was saved while the clock stood back is not taken for old once the clock is right."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

DAY = 86_400 * 10**9
YEAR = 365 * DAY


def opened(path: Path) -> RobotMemory:
    """Open a memory that keeps what is at most thirty days old, by the clock of the machine."""
    return RobotMemory(path, embedding_model="", retention_age=30.0, clock=_now)


def _now() -> int:
    return time.time_ns()  # as a test has set it


def save(memory: RobotMemory, text: str, count: int) -> None:
    """Save some perceptions."""
    for number in range(count):
        memory.save_perception(f"{text} {number}")


def test_a_clock_that_is_set_forward_while_the_memory_is_open_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    right = time.time_ns
    with opened(path) as memory:
        save(memory, "saved by the right clock", 5)
        memory.retain()
    monkeypatch.setattr(time, "time_ns", lambda: right() - YEAR)
    with opened(path) as memory:
        save(memory, "saved a year back", 5)
        memory.retain()
        monkeypatch.undo()
        memory.retain()
        assert memory.status().memories == 10
    with opened(path) as memory:
        memory.retain()
        assert memory.status().memories == 10
        # They are as old as they would be by the right clock.
        monkeypatch.setattr(time, "time_ns", lambda: right() + 29 * DAY)
        memory.retain()
        assert memory.status().memories == 10
        monkeypatch.setattr(time, "time_ns", lambda: right() + 31 * DAY)
        memory.retain()
        assert memory.status().memories == 0


def test_a_clock_that_was_right_before_tells_what_was_saved_by_a_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    right = time.time_ns
    with opened(path) as memory:
        save(memory, "saved by the right clock", 1)
        memory.retain()
    monkeypatch.setattr(time, "time_ns", lambda: right() - YEAR)
    with opened(path) as memory:
        save(memory, "saved a year back", 5)
    monkeypatch.undo()
    with opened(path) as memory:
        memory.retain()
        assert memory.status().memories == 6


def test_what_is_old_goes_although_the_clock_was_right(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        memory.save_perception("seen long ago", observed_at=time.time_ns() - 40 * DAY)
        save(memory, "seen now", 1)
        memory.retain()
        assert [one.memory.content for one in memory.recall(n=9, after=0)] == ["seen now 0"]
