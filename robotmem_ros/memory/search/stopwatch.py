"""Measure the stages of one recall."""

from __future__ import annotations

import time


class Stopwatch:
    """Measure the stages of one recall for the debug log. Off, it does nothing."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self._laps: list[tuple[str, float]] = []
        self._start = self._last = time.perf_counter() if is_on else 0.0

    def lap(self, name: str) -> None:
        """End a stage; one that is run several times is noted several times."""
        if self.is_on:
            now = time.perf_counter()
            self._laps.append((name, now - self._last))
            self._last = now

    def __str__(self) -> str:
        """Tell the stages in their order, and the whole, in milliseconds."""
        laps = ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in self._laps)
        return f"{(self._last - self._start) * 1e3:.2f} ms ({laps})"
