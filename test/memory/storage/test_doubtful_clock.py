"""A clock that is off by years is told by the days that the memory lived, and does no harm meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.doctor import Severity

from ...support.clock import DAY, NOW, SECOND, Clock
from ...support.sightings import see, sighting, the

YEAR = 365 * DAY
BEHIND = [5 * SECOND, 946_684_800 * SECOND, NOW - YEAR]
"""Clocks that begin in 1970 and 2000, and one that stands at the day on which its image was made."""


def opened(path: Path, clock: Clock, retention_age: float = 0.0) -> RobotMemory:
    """Open a memory by a clock."""
    return RobotMemory(path, embedding_model="", clock=clock, retention_age=retention_age)


def told(memory: RobotMemory) -> tuple[str, str]:
    """Return what the status and the doctor tell of the clock; empty if it is right."""
    (finding,) = [finding for finding in memory.doctor() if finding.name == "clock"]
    reason = next((part for part in memory.status().reason.split("; ") if "the robot's clock" in part), "")
    return reason, "" if finding.severity is Severity.OK else finding.seen


@pytest.mark.parametrize("start", BEHIND)
def test_a_clock_that_is_behind_is_told_in_log_status_and_doctor_until_it_is_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, start: int
) -> None:
    clock = Clock()
    with opened(tmp_path / "memory.db", clock) as memory:
        memory.save_perception("a cup")
        assert told(memory) == ("", "")
    clock.now = start
    with opened(tmp_path / "memory.db", clock) as memory:
        memory.save_perception("a box")
        memory.flush()
        reason, finding = told(memory)
        assert "days before 2026-09-21, a day on which the memory was open: it is behind" in reason
        assert finding.startswith(reason)
        assert reason in caplog.text
        clock.now = NOW + 60 * SECOND
        memory.save_perception("a ball")
        assert told(memory)[0] == ""


def test_a_clock_that_is_ahead_is_told_and_when_it_is_right_again_nothing_is(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "memory.db", clock) as memory:
        memory.save_perception("a cup")
        clock.now += YEAR
        memory.save_perception("a box")
        assert "365 days after 2026-09-21" in told(memory)[0]
        assert "the clock is ahead" in told(memory)[1]
        clock.now -= YEAR
        memory.save_perception("a ball")
        assert told(memory)[0] == ""


@pytest.mark.parametrize("step", [-3 * SECOND, 3 * SECOND, -20 * DAY, 100 * DAY])
def test_a_clock_that_is_corrected_or_a_robot_that_was_off_is_not_told(tmp_path: Path, step: int) -> None:
    clock = Clock()
    with opened(tmp_path / "memory.db", clock) as memory:
        memory.save_perception("a cup")
        clock.now += step
        memory.save_perception("a box")
        assert told(memory)[0] == ""


@pytest.mark.parametrize("start", BEHIND)
def test_an_object_that_is_seen_by_a_clock_that_is_behind_keeps_its_later_time(tmp_path: Path, start: int) -> None:
    clock = Clock()
    with opened(tmp_path / "memory.db", clock) as memory:
        see(memory, sighting(2.0, t=NOW // SECOND))
    clock.now = start
    with opened(tmp_path / "memory.db", clock) as memory:
        see(memory, sighting(2.0, t=start // SECOND))
        found = the(memory, 1)
        assert (found.last_seen, found.times_seen) == (NOW, 2)


def test_nothing_is_too_old_while_the_clock_is_in_doubt(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path / "memory.db", clock, retention_age=0.5) as memory:
        memory.save_perception("a cup")
        clock.now += YEAR
        assert memory.retain().memories == 0
        memory.save_perception("a box")
        assert memory.retain().memories == 0
