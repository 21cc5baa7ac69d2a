"""Look whether there is a memory under a condition."""

from __future__ import annotations

from ..conditions.condition import And, Condition
from .snapshot import Snapshot


def has_any(snapshot: Snapshot, condition: Condition, *others: Condition) -> bool:
    """Tell whether a memory meets a condition that an index lists, and all others, withdrawn or not."""
    source, check = And((condition,)).sql().source, And(others).sql()
    assert source is not None
    sql = f"SELECT 1 FROM ({source.sql}) AS s CROSS JOIN memories AS m ON m.id = s.id WHERE {check.sql} LIMIT 1"
    return snapshot.row(sql, (*source.arguments, *check.arguments)) is not None


def has_other(snapshot: Snapshot, condition: Condition, among: Condition, limit: int) -> bool:
    """Tell whether an active memory does not meet a condition, of `limit` that meet another one, the oldest mostly."""
    own, check = And((condition,)).sql(), And((among,)).sql()
    # As the index gives them: to order the memories of a collection by age would take all of them.
    first = f"SELECT * FROM memories AS m WHERE {check.sql} LIMIT ?"
    sql = f"SELECT 1 FROM ({first}) AS m WHERE status = 'active' AND NOT {own.sql} LIMIT 1"
    return snapshot.row(sql, (*check.arguments, limit, *own.arguments)) is not None
