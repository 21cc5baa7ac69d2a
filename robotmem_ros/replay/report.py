"""Show the progress of an import, and what it did as a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from .bag import Bag
from .config import ReplayConfig
from .replay import Result

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


_HEAD = ("topic", "type", "messages", "observations", "stored", "left out")
_NUMBERS = {2, 3, 4}


def summary(bag: Bag, config: ReplayConfig, result: Result, *, dry_run: bool, seconds: float) -> str:
    """The table, and what else is to be said; ends with a line break."""
    rows: list[Sequence[str]] = [(*_HEAD[:4], "would store" if dry_run else "stored", _HEAD[5])]
    by_name = {topic.name: topic for topic in config.topics}
    for name, counts in result.counts.items():
        topic = by_name[name]
        left_out = ", ".join(f"{count} {reason.value}" for reason, count in counts.left_out.most_common())
        numbers = (str(counts.received), str(counts.observations), str(counts.stored))
        rows.append((topic.topic, topic.type, *numbers, left_out))
    lines = [*_table(rows)] if len(rows) > 1 else ["none of the configured topics is in the recording"]
    lines += [f"{topic.topic} ({topic.name}) is configured, and not in the recording" for topic in result.missing]
    refusals = [counts.last_refusal for counts in result.counts.values() if counts.last_refusal]
    lines += [f"for example {refusal}" for refusal in refusals]
    lines += [
        f"{by_name[name].topic}: {counts.views} messages told what is gone, {counts.views_left_out} could not"
        for name, counts in result.counts.items()
        if counts.views or counts.views_left_out
    ]
    if result.refused_transforms:
        lines.append(f"{result.refused_transforms} transforms could not be used")
    if dry_run:
        configured = {topic.topic for topic in config.topics} | {"/tf", "/tf_static"}
        others = [(name, found) for name, found in sorted(bag.topics.items()) if name not in configured]
        if others:
            lines.append("not configured:")
            lines += _table([(f"  {name}", found.type_name, str(found.messages)) for name, found in others])
    rate = result.read / seconds if seconds > 0 else 0.0
    multiple = f", {result.span / seconds:,.0f} times real time" if seconds > 0 else ""
    lines.append(f"{result.read:,} messages in {seconds:.2f} s: {rate:,.0f}/s{multiple}")
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if index in _NUMBERS else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
