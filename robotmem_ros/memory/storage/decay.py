"""Time decay: how sure a memory still is, computed when it is read and never written back.

    confidence now = confidence * (1 - decay_rate) ** days

`days` are the whole days since the memory was last fresh: the latest of when it was observed, when it came in with a
stream (a topic or a recording) and when it was last recalled. So a memory is as sure as it was stored for its first
day, and what is used stays.

Source: the geometric decay of the published robotmem 0.1.3, `confidence * (1 - decay_rate) ^ days`, which is the
exponential forgetting curve R = exp(-t / S) after Ebbinghaus (1885), with a stability S of -1 / ln(1 - decay_rate)
days: 99.5 days for 0.01, so that half is left after 69 days. Published, it was written back at the end of every
session and so compounded; here nothing is written.

`now` is the clock that the memory was given, the robot's: simulated where the robot's is. What lies after it does not
decay. Neither does what was stamped by a simulated clock, which counts from zero, when a wall clock asks: such times
cannot be compared. A recording counts from its import, however old its stamps are; only what the caller of `learn` or
`save_perception` says of the past is taken as the robot's own past.

Constraints and preferences do not decay, nor does a row whose column `decay_rate` was set to 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..clocks import DAY, comparable_since

PROTECTED = ("constraint", "preference")
"""Categories that do not decay."""
_RECENT = 30
_IS_PROTECTED = f"(m.category IN ({', '.join(map(repr, PROTECTED))}) OR m.decay_rate = 0)"
_FRESH = "max(m.observed_at, m.refreshed_at)"
_CONFIDENCE = (
    f"m.confidence * CASE WHEN {_IS_PROTECTED} OR {_FRESH} < ? THEN 1.0 ELSE pow(?, max(0, (? - {_FRESH}) / {DAY})) END"
)


class Expression(NamedTuple):
    """An SQL expression over the alias `m` of memories, with its arguments."""

    sql: str
    arguments: tuple[object, ...] = ()


class Decay(NamedTuple):
    """How memories decay, seen from one moment."""

    rate: float
    """Share of the confidence that is lost a day, in [0, 1]; 0 for none."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""

    def confidence(self) -> Expression:
        """The confidence that a memory has now."""
        if self.rate <= 0.0:
            return Expression("m.confidence")
        return Expression(_CONFIDENCE, (comparable_since(self.now), 1.0 - self.rate, self.now))

    def at_least(self, limit: float) -> Expression:
        """Whether a memory is at least so sure now; most are told without the formula."""
        sql, arguments = self.confidence()
        # Observed less than 30 days ago, it has more left than after 30 days.
        recent, left = self.now - _RECENT * DAY, math.pow(1.0 - self.rate, _RECENT)
        surely = "m.observed_at > ? AND m.confidence * ? >= ?"
        return Expression(
            f"(m.confidence >= ? AND ({surely} OR {sql} >= ?))", (limit, recent, left, limit, *arguments, limit)
        )


def is_protected() -> str:
    """Whether a memory does not decay: an SQL expression over the alias `m` of memories."""
    return _IS_PROTECTED
