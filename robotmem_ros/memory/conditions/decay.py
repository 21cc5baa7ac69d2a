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

import math
from typing import NamedTuple


class Sql(NamedTuple):
    """An expression over the alias `m` of memories, and the arguments of its placeholders."""

    sql: str
    arguments: tuple[object, ...] = ()


LATEST_DAY = "(SELECT coalesce(max(n), 0) FROM lived_days)"
"""The number of the latest lived day in SQL; 0 if there is none. A statement reads it once."""
DEFAULT_CONFIDENCE = 0.3
"""Default minimum confidence of recall."""
UNFADING = ("constraint", "hazard", "preference")
"""Categories of facts that do not decay."""
IS_UNFADING = f"m.category IN {UNFADING}"
IS_PROTECTED = f"coalesce(m.decay_rate = 0, {IS_UNFADING})"
"""Whether a memory does not decay: an SQL expression over the alias `m` of memories."""
_RECENT = 30
_CONFIDENCE = (
    f"m.confidence * CASE WHEN {IS_PROTECTED} THEN 1.0 "
    f"ELSE pow(1.0 - coalesce(m.decay_rate, ?), {LATEST_DAY} - m.evidence_day) END"
)


class Decay(NamedTuple):
    """The decay of memories, seen from one moment."""

    rate: float
    """Share of the confidence that is lost per day, in [0, 1], by memories without a rate of their own."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""

    def confidence(self) -> Sql:
        """Return the confidence that a memory has now."""
        sql = _CONFIDENCE
        if self.rate <= 0.0:
            sql = f"CASE WHEN m.decay_rate IS NULL THEN m.confidence ELSE {sql} END"
        return Sql(f"({sql})", (self.rate,))

    def at_least(self, limit: float) -> Sql:
        """Tell whether a memory has at least this confidence now; most rows are decided without the formula."""
        sql, arguments, *_ = self.confidence()
        # With evidence less than 30 days old, at least the share after 30 days remains.
        share = math.pow(1.0 - self.rate, _RECENT)
        surely = f"m.evidence_day > {LATEST_DAY} - {_RECENT} AND m.confidence * ? >= ? AND m.decay_rate IS NULL"
        return Sql(f"(m.confidence >= ? AND ({surely} OR {sql} >= ?))", (limit, share, limit, *arguments, limit))

    def has_faded(self) -> Sql:
        """Tell whether a memory has faded: its confidence fell below the default minimum of recall."""
        sure = self.at_least(DEFAULT_CONFIDENCE)
        return Sql(f"(m.confidence >= {DEFAULT_CONFIDENCE} AND NOT {sure.sql})", sure.arguments)
