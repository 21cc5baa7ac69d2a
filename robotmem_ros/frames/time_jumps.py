"""Sees by the stamps of transforms that time went back, as in a recording that is played in a loop."""

from __future__ import annotations

from typing import Any, NamedTuple

_NS = 1_000_000_000
_LOOP_NS = _NS
"""A frame that is older than it was by more than this is a recording that began anew, and not one that came late."""


class TimeJump(NamedTuple):
    """Which frame went back, and how far."""

    frame: str
    seconds: float


class TimeJumps:
    """Remembers the newest stamp of each frame."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def notice(self, message: Any) -> TimeJump | None:
        """The first frame of a tf2_msgs/TFMessage that went back; then all begins anew with this message."""
        headers = ((one.child_frame_id, one.header.stamp) for one in message.transforms)
        stamps = [(frame, stamp.sec * _NS + stamp.nanosec) for frame, stamp in headers]
        back = ((frame, self._newest.get(frame, stamp) - stamp) for frame, stamp in stamps)
        jump = next((TimeJump(frame, by / _NS) for frame, by in back if by > _LOOP_NS), None)
        if jump is not None:
            self._newest.clear()
        for frame, stamp in stamps:
            self._newest[frame] = max(stamp, self._newest.get(frame, stamp))
        return jump

    def clear(self) -> None:
        """Forgets all stamps."""
        self._newest.clear()
