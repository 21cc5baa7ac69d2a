"""Times of the robot's clock in nanoseconds, of the epoch or of a simulation, and of the wall clock in ISO 8601."""

from __future__ import annotations

from datetime import datetime, timezone

DAY = 86_400 * 10**9
"""Nanoseconds."""
_FIRST_OF_WALL_CLOCKS = 10**18
"""September 2001; a time before it is that of a simulation."""


def comparable_since(now: int) -> int:
    """The earliest time that can be compared with this one: a wall clock's cannot with those of a simulation."""
    return _FIRST_OF_WALL_CLOCKS if now >= _FIRST_OF_WALL_CLOCKS else 0


def iso(time_ns: int, *, timespec: str = "microseconds") -> str:
    """Write a time as the tables keep it: ISO 8601 in UTC, to the microsecond or another `timespec` of isoformat()."""
    return datetime.fromtimestamp(time_ns // 1000 / 1e6, timezone.utc).isoformat(timespec=timespec)


def nanoseconds(written: str) -> int:
    """Read what `iso` wrote, as nanoseconds since the epoch."""
    return round(datetime.fromisoformat(written).timestamp() * 1e6) * 1000
