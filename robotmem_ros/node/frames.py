"""Brings the target of a spatial sort into the memory frame, by the transforms that the node knows."""

from __future__ import annotations

import time
from collections.abc import Callable

from builtin_interfaces.msg import Time

from ..frames import FrameError, TransformBuffer
from ..memory.errors import FrameMismatchError

_PATIENCE = 1.0
_PAUSE = 0.01
_NS = 1_000_000_000


class TargetFrames:
    """Transforms points. `listen` is called before the first one, and says why there are no transforms."""

    def __init__(self, buffer: TransformBuffer, listen: Callable[[], str]) -> None:
        self._buffer = buffer
        self._listen = listen

    def transformed(
        self, point: tuple[float, float, float], source: str, target: str, stamp: Time
    ) -> tuple[float, float, float]:
        """A point of frame `source` in frame `target` at a time; a zero stamp means the latest transform.

        Waits up to a second for the transform, so call it from a thread that may wait.

        Raises:
            FrameMismatchError: no transforms come, or none between the frames at that time.
        """
        missing = self._listen()
        if missing:
            raise FrameMismatchError(source, target, missing)
        stamp_ns = int(stamp.sec) * _NS + int(stamp.nanosec)
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._buffer.lookup(target, source, stamp_ns).apply(point)
            except FrameError as cause:
                if not cause.waiting_helps or time.monotonic() >= deadline:
                    raise FrameMismatchError(source, target, str(cause)) from cause
            time.sleep(_PAUSE)
