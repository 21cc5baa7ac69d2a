"""Leave a service that failed alone for a while, so that no query waits for it again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

DELAYS = (60.0, 120.0, 240.0, 300.0)
"""Seconds of the pause after the first failure, the second in a row, and so on; the last one stays."""


class Cooldown:
    """A pause after each failure, longer after each in a row; a success resets it. Safe to use from several threads."""

    def __init__(self, delays: Sequence[float] = DELAYS, clock: Callable[[], float] = time.monotonic) -> None:
        self._delays = delays
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._reason = ""
        self._lock = threading.Lock()

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the pause ends; 0 if there is none."""
        return max(self._until - self._clock(), 0.0)

    @property
    def reason(self) -> str:
        """Say why there is a pause, and how long it goes on; empty if there is none."""
        seconds = self.seconds_left
        return f"{self._reason}; the next attempt is in {seconds:.0f} s" if seconds else ""

    def fail(self, reason: str, minimum: float = 0.0) -> None:
        """Begin a pause of at least some seconds; calls that fail during a pause count as one failure."""
        with self._lock:
            if not self.seconds_left:
                delay = self._delays[min(self._failures, len(self._delays) - 1)]
                self._failures += 1
                self._until = self._clock() + max(delay, minimum)
                self._reason = reason

    def succeed(self) -> None:
        """Let the next failure be the first again."""
        self._failures = 0
