"""Time decay of confidence, computed when a memory is read and never written back.

    confidence now = confidence * (1 - decay_rate) ** days

`days` are the days that the memory has lived since the one that the evidence is from: see lived_days.py. The evidence
of a memory is from when it was observed, seen again or learned again, or came in with a stream (a topic or a
recording), whichever was last. So a memory keeps its confidence for the day, and what nothing confirms fades while the
robot is awake. Recalling it is no evidence: looking at a thing does not make a belief in it fresher.

A recording counts from its import, however old its stamps are. A past `observed_at` of a call of `learn` or
`save_perception` counts from then, but only the days that were lived since.

Source: the geometric decay of the published robotmem 0.1.3, `confidence * (1 - decay_rate) ^ days`, which is the
exponential forgetting curve R = exp(-t / S) after Ebbinghaus (1885), with a stability S of -1 / ln(1 - decay_rate)
days: 99.5 days for 0.01, so that half is left after 69 days. Published, it was written back at the end of every
session and so compounded; here nothing is written.

`decay_rate` is the parameter, unless the memory has a rate of its own in the column of that name. Without one, the
facts of some categories do not decay.

A memory has faded if its confidence fell below the default minimum of recall. Confidence is monotone: without new
evidence, it falls below a limit on one lived day and stays below.
"""

from __future__ import annotations

from typing import NamedTuple

LATEST_DAY = "(SELECT coalesce(max(n), 0) FROM lived_days)"
"""The number of the latest lived day in SQL; 0 if there is none. A statement reads it once."""
DEFAULT_CONFIDENCE = 0.3
"""Default minimum confidence of recall."""
UNFADING = ("constraint", "hazard", "preference")
"""Categories of facts that do not decay."""
IS_UNFADING = f"m.category IN {UNFADING}"
IS_PROTECTED = f"coalesce(m.decay_rate = 0, {IS_UNFADING})"
"""Whether a memory does not decay: an SQL expression over the alias `m` of memories."""


def share_left(own: float | None, category: str, days: int, rate: float) -> float:
    """Return the share of its confidence that a memory has left, in [0, 1]; a function of SQL too.

    Args:
        own: the memory's own rate a day, or None.
        category: its category.
        days: days lived since its evidence.
        rate: the rate of memories without one of their own.
    """
    if own is None:
        own = 0.0 if category in UNFADING else rate
    return 1.0 if days <= 0 else (1.0 - own) ** days


class Decay(NamedTuple):
    """The decay of memories, seen from one moment; expressions in SQL are over the alias `m` of memories."""

    rate: float
    """Share of the confidence that is lost per day, in [0, 1], by memories without a rate of their own."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""

    def confidence(self) -> str:
        """Return the confidence that a memory has now, in SQL."""
        days = f"{LATEST_DAY} - m.evidence_day"
        return f"(m.confidence * share_left(m.decay_rate, m.category, {days}, {float(self.rate)!r}))"
