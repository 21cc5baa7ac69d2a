"""Times as people read them."""

from __future__ import annotations

from datetime import datetime, timezone

_YEAR_2001 = 1e9


def moment(time_ns: int) -> str:
    """A time of the robot's clock in UTC; the clock of a simulation stays in seconds."""
    seconds = time_ns / 1e9
    if seconds < _YEAR_2001:
        return f"{seconds:.3f} s"
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s"
