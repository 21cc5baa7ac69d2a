"""Times of the wall clock, as the tables keep them."""

from __future__ import annotations

from datetime import datetime, timezone


def iso(time_ns: int, *, timespec: str = "microseconds") -> str:
    """ISO 8601 in UTC, to the microsecond or as datetime.isoformat() takes it."""
    return datetime.fromtimestamp(time_ns // 1000 / 1e6, timezone.utc).isoformat(timespec=timespec)


def nanoseconds(written: str) -> int:
    """Nanoseconds since the epoch of what `iso` wrote, as exact as that."""
    return round(datetime.fromisoformat(written).timestamp() * 1e6) * 1000
