"""Warn of what is dropped because something is wrong: in the log now and then, and in the status while it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rclpy.node import Node

from ..perception import DropReason, TopicCounts

_LOG_PERIOD = 30.0
"""Seconds between two lines about the same topic and reason."""
_MIN_UNWANTED = 20
"""Observations dropped by their labels, before anything was stored, from which `labels` may have a typing error."""
_RECENT = 10.0
"""Seconds after which a drop is past."""


@dataclass
class _DropState:
    number: int = 0
    logged_count: int = 0
    last_time: float = 0.0
    next_line: float = 0.0
    words: str = ""


class DropWarnings:
    """Drops by topic and reason since creation."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._drops: dict[tuple[str, DropReason], _DropState] = {}
        self._empty_topics: set[str] = set()
        """Topics for which the log says that their labels let nothing through."""

    def look(self, topic: str, counts: TopicCounts) -> None:
        """Log what was dropped since the last look, unless the configuration asks for it; call it every second."""
        now = time.monotonic()
        for reason, number in counts.drops.items():
            if reason.is_expected:
                continue
            state = self._drops.setdefault((topic, reason), _DropState())
            if number > state.number:
                detail = counts.details.get(reason, "")
                state.number, state.last_time = number, now
                state.words = f"{reason.value}{f': {detail}' if detail else ''}"
            if state.number > state.logged_count and now >= state.next_line:
                self._node.get_logger().warning(f"{topic}: dropped {state.number - state.logged_count}, {state.words}")
                state.logged_count, state.next_line = state.number, now + _LOG_PERIOD
        self._look_at_labels(topic, counts)

    def _look_at_labels(self, topic: str, counts: TopicCounts) -> None:
        # A label may be rare, so this is one line, and no trouble of the status.
        unwanted = counts.drops[DropReason.LABEL_NOT_WANTED]
        accepted_count = counts.stored_count + counts.waiting_count
        if unwanted >= _MIN_UNWANTED and not accepted_count and topic not in self._empty_topics:
            self._empty_topics.add(topic)
            detail = "nothing has been stored yet; check the spelling in `labels` and `ignore_labels`"
            reason = DropReason.LABEL_NOT_WANTED.value
            self._node.get_logger().warning(f"{topic}: dropped {unwanted}, {reason}: {detail}")

    def recent(self) -> str:
        """Describe recent drops and their reasons; empty if there are none."""
        now = time.monotonic()
        recent = ((topic, state) for (topic, _), state in self._drops.items() if now - state.last_time < _RECENT)
        return "; ".join(f"{topic}: dropped, {state.words}" for topic, state in recent)
