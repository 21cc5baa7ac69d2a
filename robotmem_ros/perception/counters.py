"""Count what becomes of the messages of a topic, so that each of them is accounted for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .drop_reason import DropReason


@dataclass
class TopicCounts:
    """`observations == stored + waiting + dropped.total()`, at any time."""

    received: int = 0
    """Messages."""
    observations: int = 0
    """Elements of the messages; a message that was dropped unread, or held nothing, counts as one."""
    stored: int = 0
    waiting: int = 0
    """For a transform, or to be written."""
    dropped: Counter[DropReason] = field(default_factory=Counter)
    last_drop: str = ""
    """The last one that was dropped because something is wrong, in words."""
    fields_of_view: int = 0
    """Messages that also reported what their detector did not detect."""
    fields_of_view_dropped: int = 0
    """Messages that could not, because the place of the sensor or a part of the content is unknown."""


class TopicCounter:
    """Counts for one topic; safe to use from several threads."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._counts = TopicCounts()
        self._lock = threading.Lock()

    def receive(self, accepted: int, dropped: Mapping[DropReason, int], why: str = "") -> None:
        """Count a message, of whose observations so many are accepted and the others dropped."""
        with self._lock:
            counts = self._counts
            counts.received += 1
            counts.observations += accepted + sum(dropped.values())
            counts.waiting += accepted
            counts.dropped.update(dropped)
            counts.last_drop = why or counts.last_drop

    def store(self, number: int) -> None:
        """Count accepted observations as stored."""
        with self._lock:
            self._counts.waiting -= number
            self._counts.stored += number

    def drop(self, reason: DropReason, number: int, why: str = "") -> None:
        """Count accepted observations as dropped."""
        if not number:
            return
        with self._lock:
            self._counts.waiting -= number
            self._counts.dropped[reason] += number
            if why:
                self._counts.last_drop = f"{self._topic}: {why}"

    def field_of_view(self, why_not: str = "") -> None:
        """Count a field of view, or one that had to be dropped, and why."""
        with self._lock:
            if why_not:
                self._counts.fields_of_view_dropped += 1
                self._counts.last_drop = f"{self._topic}: {why_not}"
            else:
                self._counts.fields_of_view += 1

    def counts(self) -> TopicCounts:
        """Return a copy of the counts."""
        with self._lock:
            return replace(self._counts, dropped=self._counts.dropped.copy())
