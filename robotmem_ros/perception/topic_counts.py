"""What became of the messages of a topic: every one of them is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .reasons import Reason


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
        return TopicCounts(
            self.received, self.observations, self.stored, self.waiting, self.left_out.copy(), self.last_refusal
        )
