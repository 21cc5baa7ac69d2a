"""What became of the messages of a topic: every one of them is accounted for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .drop_reason import Reason


@dataclass
class TopicCounts:
    """`observations == stored + waiting + left_out.total()`, at any time."""

    received: int = 0
    """Messages."""
    observations: int = 0
    """What the messages held; a message that was left out unread, or held nothing, counts as one."""
    stored: int = 0
    waiting: int = 0
    """For a transform, or to be written."""
    left_out: Counter[Reason] = field(default_factory=Counter)
    last_refusal: str = ""
    """The last one that was left out because something is wrong, in words."""
    views: int = 0
    """Messages that told what is not in view any more, too."""
    views_left_out: int = 0
    """Messages that could not, for it is not known where the sensor was, or not all that they held."""

    def leave_out(self, reasons: Mapping[Reason, int], why: str = "") -> None:
        """Counts observations that nobody counted before as left out."""
        self.observations += sum(reasons.values())
        self.left_out.update(reasons)
        self.last_refusal = why or self.last_refusal

    def accept(self, number: int) -> None:
        """Counts observations that are on their way now."""
        self.observations += number
        self.waiting += number

    def settle(self, reason: Reason | None, number: int = 1, why: str = "") -> None:
        """Counts what was on its way as stored, or as left out for a reason."""
        self.waiting -= number
        if reason is None:
            self.stored += number
        else:
            self.left_out[reason] += number
            self.last_refusal = why or self.last_refusal

    def copy(self) -> TopicCounts:
        """The counts as they are now."""
        return replace(self, left_out=self.left_out.copy())


class Tally:
    """The counts of one topic while several threads count."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._counts = TopicCounts()
        self._lock = threading.Lock()

    def received(self) -> None:
        """Counts a message that will be read."""
        with self._lock:
            self._counts.received += 1

    def left_unread(self, reason: Reason) -> None:
        """Counts a message that was left out as a whole."""
        with self._lock:
            self._counts.received += 1
            self._counts.leave_out({reason: 1})

    def read(self, accepted: int, left_out: Mapping[Reason, int], why: str) -> None:
        """Counts the observations of one message."""
        with self._lock:
            self._counts.leave_out(left_out, why)
            self._counts.accept(accepted)

    def settle(self, reason: Reason | None, number: int, why: str = "") -> None:
        """Counts what was on its way as stored, or as left out for a reason."""
        if not number:
            return
        with self._lock:
            self._counts.settle(reason, number, f"{self._topic}: {why}" if why else "")

    def view(self, why_not: str = "") -> None:
        """Counts a view, or one that had to be left out, and why."""
        with self._lock:
            if why_not:
                self._counts.views_left_out += 1
                self._counts.last_refusal = f"{self._topic}: {why_not}"
            else:
                self._counts.views += 1

    def now(self) -> TopicCounts:
        """The counts as they are now."""
        with self._lock:
            return self._counts.copy()
