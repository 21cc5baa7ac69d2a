"""How useful a memory is, which decides who goes first when there is room for less.

Memories go in this order: by protection, then by

    usefulness = confidence * (1 + 4 * n / (n + 4)) / (1 + days / 100)

then the one observed earlier, then the lower id. Least useful first.

- `confidence` as it was stored; the recency is a factor of its own.
- `n` is how often it was recalled. Use counts up to five times as much as none, and four recalls are half of that: what
  was asked for once in a year must not yield to what was asked for a thousand times one afternoon.
- `days` since it was last of use, the later of when it was observed and when it was last recalled. The decline is
  hyperbolic, half after 100 days and a quarter after 300, as human forgetting is (Wixted and Ebbesen 1991, "On the form
  of forgetting": power functions fit it better than exponentials), so that an old memory of great use still outlives
  a new one of none. Constraints and preferences do not age. A time that cannot be compared with the clock, since only
  one of them is of a simulation, is that of now.

Protection, from those that go first to those that stay longest:

0. withdrawn: forgotten or superseded;
1. all others;
2. lessons that are not consolidated yet: active facts of a session that is still open, or waits for it;
3. constraints.

Age budgets take no memory of protection 2 or 3.
"""

from __future__ import annotations

from typing import NamedTuple

from ..clocks import DAY, comparable_since

SPARED = 2
"""From this protection on, age alone takes no memory."""
_UNCONSOLIDATED = (
    "m.type = 'fact' AND m.session_id <> '' AND EXISTS "
    "(SELECT 1 FROM sessions AS s WHERE s.external_id = m.session_id AND s.superseded IS NULL)"
)
PROTECTION = (
    "CASE WHEN m.status <> 'active' THEN 0 WHEN m.category = 'constraint' THEN 3 "
    f"WHEN {_UNCONSOLIDATED} THEN 2 ELSE 1 END"
)


class Order(NamedTuple):
    """SQL over the alias `m` of memories, with the named arguments `:now` and `:comparable`."""

    last_use: str
    """Nanoseconds of the robot's clock."""
    usefulness: str

    @property
    def least_useful_first(self) -> str:
        """To order by."""
        return f"{PROTECTION}, {self.usefulness}, m.observed_at, m.id"


def order() -> Order:
    """The order in which memories go, as SQL."""
    last_use = "max(m.observed_at, m.refreshed_at)"
    age = f"CASE WHEN {last_use} < :comparable THEN 0 ELSE max(0, :now - {last_use}) END"
    days = f"CASE WHEN m.category IN ('constraint', 'preference') THEN 0.0 ELSE ({age}) / {float(DAY)!r} END"
    use = "(1.0 + 4.0 * m.access_count / (m.access_count + 4))"
    return Order(last_use, f"m.confidence * {use} / (1.0 + {days} / 100.0)")


def moment(now: int) -> dict[str, int]:
    """The arguments of the order at a time of the robot's clock, in nanoseconds."""
    return {"now": now, "comparable": comparable_since(now)}
