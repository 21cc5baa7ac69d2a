"""How far an import is, on a terminal as one line that changes, else as a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

_ON_TERMINAL, _ELSEWHERE = 0.2, 5.0
_BAR = 20


class ProgressLine:
    """Writes to a stream; `clock` gives seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._terminal = stream.isatty()
        self._start = self._last = clock()
        self._shown = False

    def show(self, read: int, part: float) -> None:
        """Messages read so far, and which part of the whole that is, in [0, 1]."""
        now = self._clock()
        if now - self._last < (_ON_TERMINAL if self._terminal else _ELSEWHERE):
            return
        self._last = now
        part = min(1.0, max(0.0, part))
        elapsed = now - self._start
        left = f"{_span(elapsed * (1 - part) / part)} left" if part > 0 else "? left"
        text = f"{part:4.0%} {read:,} messages, {read / elapsed:,.0f}/s, {left}"
        if self._terminal:
            done = round(part * _BAR)
            self._stream.write(f"\r\x1b[K[{'#' * done}{'.' * (_BAR - done)}] {text}")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()
        self._shown = True

    def end(self) -> None:
        """Leaves the line."""
        if self._terminal and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
