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


def lived(path: Path, clock: Clock, days: int) -> None:
    """Let a memory be open on so many days more."""
    for _ in range(days):
        clock.now += DAY
        with opened(path, clock):
            pass


@pytest.mark.parametrize(("known", "ahead"), [(1, 1), (3, 2), (9, 3), (40, 12)])
def test_a_clock_that_was_ahead_over_midnight_and_is_right_again_is_not_told(
    tmp_path: Path, known: int, ahead: int
) -> None:
    path, clock = tmp_path / "memory.db", Clock()
    lived(path, clock, known)
    clock.now += YEAR
    lived(path, clock, ahead)
    clock.now -= YEAR
    for _ in range(9):
        lived(path, clock, 7)
        with opened(path, clock) as memory:
            assert told(memory)[0] == ""


@pytest.mark.parametrize("start", BEHIND)
def test_a_clock_that_begins_anew_with_each_start_is_told_each_time(tmp_path: Path, start: int) -> None:
    path, clock = tmp_path / "memory.db", Clock()
    for _ in range(4):
        lived(path, clock, 2)
        right, clock.now = clock.now, start
        with opened(path, clock) as memory:
            assert "it is behind" in told(memory)[0]
        clock.now = right


def test_a_clock_that_falls_back_into_a_time_that_was_lived_is_told(tmp_path: Path) -> None:
    path, clock = tmp_path / "memory.db", Clock()
    lived(path, clock, 100)
    clock.now -= 60 * DAY
    with opened(path, clock) as memory:
        assert "it is behind" in told(memory)[0]


@pytest.mark.parametrize("day", [10**9, 2**62, -(10**9), "soon", b"soon", 0.5])
def test_a_day_that_no_clock_shows_tells_nothing(tmp_path: Path, day: object) -> None:
    clock = Clock()
    with opened(tmp_path / "memory.db", clock, retention_age=30.0) as memory:
        memory.save_perception("a cup")
        sql = "INSERT INTO lived_days (day, after_id) VALUES (?, 0)"
        memory.parts.database.write(lambda transaction: transaction.execute(sql, (day,))).result()
        memory.save_perception("a box")
        assert told(memory)[0] == ""
        assert memory.retain().memories == 0
        assert len(memory.recall("box").memories) == 1
