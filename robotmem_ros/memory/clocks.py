"""Times of the robot's clock in nanoseconds: since the epoch, or since the start of a simulation."""

from __future__ import annotations

DAY = 86_400 * 10**9
"""Nanoseconds."""
_FIRST_OF_WALL_CLOCKS = 10**18
"""September 2001; a time before it is that of a simulation."""


def comparable_since(now: int) -> int:
    """The earliest time that can be compared with this one: a wall clock's cannot with those of a simulation."""
    return _FIRST_OF_WALL_CLOCKS if now >= _FIRST_OF_WALL_CLOCKS else 0
