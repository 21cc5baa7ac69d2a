"""Times in nanoseconds: of the robot's clock, since the epoch or the start of a simulation, and of the wall clock.

A stamp may be wrong, and the robot's clock may be set back or start again: only some stamps can be compared.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

DAY = 86_400 * 10**9
"""Nanoseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST_OF_WALL_CLOCKS = 10**18
"""September 2001; an earlier time is that of a simulation."""
_MAX_AHEAD_NS = 10 * 10**9
"""Clocks of one robot differ by less: a stamp that is further ahead is wrong."""
_SAME_NS = 10 * 10**9
"""The robot's clock is the wall clock if they differ by less."""
_MAX_DELAY_NS = 600 * 10**9
"""No message takes longer to arrive, even if it waits for its transform."""


def stamp_ns(stamp: Any) -> int:
    """Return a builtin_interfaces/Time, of rclpy or of rosbags, in nanoseconds."""
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def comparable_since(now: int) -> int:
    """Return the earliest time that can be compared with `now`: wall clocks and simulations cannot be compared."""
    return FIRST_OF_WALL_CLOCKS if now >= FIRST_OF_WALL_CLOCKS else 0


def possible_stamp(stamp: int, arrived_at: int) -> int:
    """Limit a stamp to the latest that is possible for what arrived at this time of the robot's clock.

    What a recording holds arrived when it was recorded. Without a clock (0) every stamp is possible.
    """
    return min(stamp, arrived_at + _MAX_AHEAD_NS) if arrived_at > 0 else stamp


def is_later(stamp: int, than: int, *, now: int, is_recorded: bool) -> bool:
    """Tell whether what arrives `now` is newer than what arrived before it, and is not only delayed.

    If the older stamp lies in the future, its clock was set back since. A stamp that is earlier than any delay
    explains comes from a clock that started again, unless it is `recorded`: recordings are imported in any order.
    """
    if stamp >= than or than > now + _MAX_AHEAD_NS:
        return True
    return not is_recorded and than - stamp > _MAX_DELAY_NS


def uptime() -> int:
    """Return nanoseconds that nobody sets; they go on while the machine sleeps, where it tells."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic_ns()


def boot() -> str:
    """Return a name of the time since the machine started, in which `uptime` goes on; empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def is_wall_clock(now: int) -> bool:
    """Tell whether the robot's clock, which shows `now`, is the wall clock."""
    return now > 0 and abs(now - time.time_ns()) < _SAME_NS


def start_of_machine(now: int) -> tuple[str, int]:
    """Return the name of the time since the machine started, and when that was by the robot's clock, which shows `now`.

    The name is empty if the robot's clock is not the wall clock: nothing tells how it goes on.
    """
    return (boot(), now - uptime()) if is_wall_clock(now) else ("", 0)


def utc(time_ns: int) -> datetime:
    """Return a time in UTC, to the microsecond."""
    return _EPOCH + timedelta(microseconds=time_ns // 1000)


def iso(time_ns: int, *, timespec: str = "microseconds") -> str:
    """Write a time as the tables keep it: ISO 8601 in UTC, to the microsecond or another `timespec` of isoformat()."""
    return utc(time_ns).isoformat(timespec=timespec)


def nanoseconds(stamp: str) -> int:
    """Read what `iso` wrote, as nanoseconds since the epoch."""
    return round(datetime.fromisoformat(stamp).timestamp() * 1e6) * 1000
