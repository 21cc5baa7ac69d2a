"""What was saved while the clock stood back is not taken for old once the clock is right."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory, clocks

from ...support.clock import DAY, Clock
from ...support.clock import live as awake

YEAR = 365 * DAY


def opened(path: Path) -> RobotMemory:
    """Open a memory that keeps what is at most thirty days old, by the clock of the machine."""
    return RobotMemory(path, embedding_model="", retention_age=30.0, clock=_now)


def _now() -> int:
    return time.time_ns()  # as a test has set it


def live(memory: RobotMemory, monkeypatch: pytest.MonkeyPatch, right: Callable[[], int], *, days: int) -> None:
    """Let a memory be awake on each day until so many are over."""
    uptime = clocks.uptime
    for day in range(1, days + 1):
        monkeypatch.setattr(time, "time_ns", lambda day=day: right() + day * DAY)
        monkeypatch.setattr(clocks, "uptime", lambda day=day: uptime() + day * DAY)
        memory.parts.database.write(lambda transaction: None).result()


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
        live(memory, monkeypatch, right, days=29)
        memory.retain()
        assert memory.status().memories == 10
        live(memory, monkeypatch, right, days=32)
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


def test_a_clock_that_starts_at_the_same_wrong_day_again_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    right = time.time_ns

    def start(boot: str, ahead: int) -> None:
        monkeypatch.setattr(clocks, "boot", lambda: boot)
        monkeypatch.setattr(time, "time_ns", lambda: right() + ahead)

    start("a", -YEAR)
    with opened(path):
        pass
    start("b", 0)
    with opened(path) as memory:
        live(memory, monkeypatch, right, days=40)
    start("c", -YEAR)
    with opened(path) as memory:
        save(memory, "saved a year back", 5)
    start("d", 41 * DAY)
    with opened(path) as memory:
        memory.retain()
        assert memory.status().memories == 5


def test_what_is_old_goes_although_the_clock_was_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "memory.db") as memory:
        memory.save_perception("seen long ago", observed_at=time.time_ns() - 40 * DAY)
        right = time.time_ns
        live(memory, monkeypatch, right, days=31)
        save(memory, "seen now", 1)
        memory.retain()
        assert [one.memory.content for one in memory.recall(n=9, after=0)] == ["seen now 0"]


@pytest.mark.parametrize("days", [1.0, 2.5, 30.0])
def test_a_robot_that_was_switched_off_for_months_loses_nothing(tmp_path: Path, days: float) -> None:
    clock = Clock()
    with RobotMemory(tmp_path / "memory.db", embedding_model="", clock=clock) as memory:
        save(memory, "seen before", 5)
    clock.now += 60 * DAY
    with RobotMemory(tmp_path / "memory.db", embedding_model="", clock=clock, retention_age=days) as memory:
        save(memory, "seen in the morning", 1)
        assert memory.retain(dry_run=True).memories == memory.retain().memories == 0
        awake(memory, clock, math.ceil(days) + 2)
        memory.retain()
        assert memory.status().memories == 0


@pytest.mark.parametrize("days", [1.0, 30.0])
def test_a_clock_that_is_ahead_for_a_moment_deletes_nothing(tmp_path: Path, days: float) -> None:
    clock = Clock()
    with RobotMemory(tmp_path / "memory.db", embedding_model="", clock=clock, retention_age=days) as memory:
        save(memory, "seen before", 5)
        clock.now += YEAR
        save(memory, "seen during the jump", 1)
        assert memory.retain().memories == 0
        clock.now -= YEAR
        save(memory, "seen after", 1)
        assert memory.retain().memories == 0
