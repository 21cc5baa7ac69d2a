"""Warn of what is dropped because something is wrong: in the log now and then, and in the status while it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rclpy.node import Node

from ..perception import DropReason, TopicCounts

_LOG_PERIOD = 30.0
"""Seconds between two lines about the same topic and reason."""
_MANY = 20
"""Observations dropped by their labels, before anything was stored, from which `labels` may have a typing error."""
_RECENT = 10.0
"""Seconds after which what was dropped for a reason is past."""


@dataclass
class _Dropped:
    number: int = 0
    logged: int = 0
    last_time: float = 0.0
    next_line: float = 0.0
    words: str = ""


class DropWarnings:
    """What was dropped of each topic and for each reason, since creation."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._dropped: dict[tuple[str, DropReason], _Dropped] = {}
        self._empty_topics: set[str] = set()
        """Topics of which a line says that their labels let nothing through."""

    def look(self, topic: str, counts: TopicCounts) -> None:
        """Log what was dropped since the last look, unless the configuration asks for it; call it every second."""
        now = time.monotonic()
        for reason, number in counts.drops.items():
            if reason.is_expected:
                continue
            seen = self._dropped.setdefault((topic, reason), _Dropped())
            if number > seen.number:
                why = counts.details.get(reason, "")
                seen.number, seen.last_time, seen.words = number, now, f"{reason.value}{f': {why}' if why else ''}"
            if seen.number > seen.logged and now >= seen.next_line:
                self._node.get_logger().warning(f"{topic}: dropped {seen.number - seen.logged}, {seen.words}")
                seen.logged, seen.next_line = seen.number, now + _LOG_PERIOD
        self._look_at_labels(topic, counts)

    def _look_at_labels(self, topic: str, counts: TopicCounts) -> None:
        # A label may be rare, so this is one line, and no trouble of the status.
        unwanted = counts.drops[DropReason.LABEL_NOT_WANTED]
        accepted = counts.stored_count + counts.waiting_count
        if unwanted >= _MANY and not accepted and topic not in self._empty_topics:
            self._empty_topics.add(topic)
            why = "nothing has been stored yet; check the spelling in `labels` and `ignore_labels`"
            self._node.get_logger().warning(f"{topic}: dropped {unwanted}, {DropReason.LABEL_NOT_WANTED.value}: {why}")

    def recent(self) -> str:
        """Return what is being dropped, and why, in words; empty if nothing is."""
        now = time.monotonic()
        recent = ((topic, one) for (topic, _), one in self._dropped.items() if now - one.last_time < _RECENT)
        return "; ".join(f"{topic}: dropped, {one.words}" for topic, one in recent)
