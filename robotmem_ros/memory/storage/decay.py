"""Time decay of confidence, computed when a memory is read and never written back.

    confidence now = confidence * (1 - decay_rate) ** days

`days` are the whole days since the latest of three times: when the memory was observed, when it came in with a stream
(a topic or a recording) and when it was last recalled. So it keeps its confidence for the first day, and what is used
stays.

Source: the geometric decay of the published robotmem 0.1.3, `confidence * (1 - decay_rate) ^ days`, which is the
exponential forgetting curve R = exp(-t / S) after Ebbinghaus (1885), with a stability S of -1 / ln(1 - decay_rate)
days: 99.5 days for 0.01, so that half is left after 69 days. Published, it was written back at the end of every
session and so compounded; here nothing is written.

`now` is a time of the robot's clock, which may be simulated. A memory from after it does not decay. Neither does one
with a stamp of a simulated clock, which counts from zero, if `now` is of a wall clock: such times cannot be compared. A
recording counts from its import, however old its stamps are; only a past `observed_at` of a call of `learn` or
`save_perception` counts as the robot's own past.

`decay_rate` is the parameter, unless the memory has a rate of its own in the column of that name. Without one,
constraints and preferences do not decay.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..clocks import DAY, comparable_since

IS_PROTECTED = "coalesce(m.decay_rate = 0, m.category IN ('constraint', 'preference'))"
"""Whether a memory does not decay: an SQL expression over the alias `m` of memories."""
_RECENT = 30
_FRESH = "max(m.observed_at, m.refreshed_at)"
_CONFIDENCE = (
    f"m.confidence * CASE WHEN {IS_PROTECTED} OR {_FRESH} < ? THEN 1.0 "
    f"ELSE pow(1.0 - coalesce(m.decay_rate, ?), max(0, (? - {_FRESH}) / {DAY})) END"
)


class Expression(NamedTuple):
    """An SQL expression over the alias `m` of memories, with its arguments."""

    sql: str
    arguments: tuple[object, ...] = ()


class Decay(NamedTuple):
    """The decay of memories, seen from one moment."""

    rate: float
    """Share of the confidence that is lost per day, in [0, 1], by memories without a rate of their own."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""

    def confidence(self) -> Expression:
        """Return the confidence that a memory has now."""
        sql = _CONFIDENCE
        if self.rate <= 0.0:
            sql = f"CASE WHEN m.decay_rate IS NULL THEN m.confidence ELSE {sql} END"
        return Expression(f"({sql})", (comparable_since(self.now), self.rate, self.now))

    def at_least(self, limit: float) -> Expression:
        """Tell whether a memory has at least this confidence now; for most, without the formula."""
        sql, arguments = self.confidence()
        # Observed less than 30 days ago, it has more left than after 30 days.
        recent, left = self.now - _RECENT * DAY, math.pow(1.0 - self.rate, _RECENT)
        surely = "m.observed_at > ? AND m.confidence * ? >= ? AND m.decay_rate IS NULL"
        return Expression(
            f"(m.confidence >= ? AND ({surely} OR {sql} >= ?))", (limit, recent, left, limit, *arguments, limit)
        )
