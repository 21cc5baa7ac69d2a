"""Orders what is seen by its stamps as far as these can be right: a stamp may be wrong, and a clock may start again."""

from __future__ import annotations

from ..models import ImportKey

_AHEAD_NS = 10 * 10**9
"""Clocks of one robot differ by less; what is further ahead is no time at which anything was seen."""
_LATE_NS = 600 * 10**9
"""No message is on its way for longer, not even to wait for its transform."""


def possible_stamp(observed_at: int, key: ImportKey | None, now: int) -> int:
    """The stamp, or the latest that is possible: nothing is seen after it came in, by the robot's clock `now`.

    What a recording holds came in when it was recorded. Without a clock every stamp is possible.
    """
    arrived = now if key is None else key.recorded_at
    return min(observed_at, arrived + _AHEAD_NS) if arrived > 0 else observed_at


def is_later(observed_at: int, than: int, *, now: int, recorded: bool) -> bool:
    """Whether what comes in `now` was seen later than what came in before, and is not only late on its way.

    What was seen before at a time that is still to come was seen by a clock that has been set back since. What is
    earlier than any delay explains is of a clock that started again too, unless it is `recorded`: recordings may be
    imported in any order.
    """
    if observed_at >= than or than > now + _AHEAD_NS:
        return True
    return not recorded and than - observed_at > _LATE_NS
