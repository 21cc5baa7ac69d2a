"""Detect by the stamps of transforms that time went back, as in a recording that is played in a loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

_NS = 1_000_000_000
_LOOP_NS = _NS
"""A frame that goes back by more is that of a recording that started again, and did not only come late."""
_TICK = 1.0
"""Seconds between two messages of the slowest clock."""


class TimeJump(NamedTuple):
    """Which frame went back, and how far."""

    frame: str
    seconds: float


class TimeJumps:
    """The newest stamp of each frame, and since when they come; `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._newest: dict[str, int] = {}
        self._since = 0.0

    @property
    def newest_ns(self) -> int:
        """Return the newest of all stamps; 0 if there are none."""
        return max(self._newest.values(), default=0)

    @property
    def fresh(self) -> bool:
        """Tell whether all stamps came a moment ago, so that none is from before a jump that a clock reports now.

        A player's clock ticks: its first transforms may have shown the jump already.
        """
        return bool(self._newest) and self._clock() - self._since < _TICK

    def notice(self, message: Any) -> TimeJump | None:
        """Return the first frame of a tf2_msgs/TFMessage that went back, if any; then forget all earlier stamps."""
        headers = ((one.child_frame_id, one.header.stamp) for one in message.transforms)
        stamps = [(frame, stamp.sec * _NS + stamp.nanosec) for frame, stamp in headers]
        back = ((frame, self._newest.get(frame, stamp) - stamp) for frame, stamp in stamps)
        jump = next((TimeJump(frame, by / _NS) for frame, by in back if by > _LOOP_NS), None)
        if jump is not None:
            self._newest.clear()
        if not self._newest:
            self._since = self._clock()
        for frame, stamp in stamps:
            self._newest[frame] = max(stamp, self._newest.get(frame, stamp))
        return jump

    def clear(self) -> None:
        """Forget all stamps."""
        self._newest.clear()
