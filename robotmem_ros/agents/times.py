"""Times as agents read them."""

from __future__ import annotations

from datetime import datetime, tzinfo

_NS = 10**9


def iso(time_ns: int, zone: tzinfo | None = None) -> str:
    """Write a time with its zone, to the second: 2026-01-31T12:00:05+01:00."""
    try:
        time = datetime.fromtimestamp(time_ns // _NS, zone)
        return (time if zone is not None else time.astimezone()).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"


def ago(time_ns: int, now: int) -> str:
    """Say how long ago a time was: `3 min ago`, `in 5 s`; of the largest unit that it has at least one of."""
    seconds = abs(now - time_ns) // _NS
    if seconds < 1:
        return "now"
    units: list[tuple[int, str]] = [(86_400 * 365, "year"), (86_400, "day"), (3600, "h"), (60, "min"), (1, "s")]
    size, name = next(unit for unit in units if seconds >= unit[0])
    count = seconds // size
    told = f"{count} {name}{'s' if count > 1 and name in {'year', 'day'} else ''}"
    return f"{told} ago" if time_ns < now else f"in {told}"
