"""Read the traits of memories that scoring uses for any query."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from .overview import overview
from .snapshot import Snapshot

_IS_REAL = """EXISTS (
    SELECT 1 FROM json_values WHERE path_id = (SELECT id FROM json_paths WHERE path = 'env.sim_or_real')
    AND value = 'real' AND memory_id = m.id)"""
CONTRADICTED_BY = """(
    SELECT other.id FROM contradictions AS c JOIN memories AS other ON other.id = c.other_id
    WHERE c.memory_id = m.id AND other.status = 'active' AND (other.observed_at, other.id) > (m.observed_at, m.id)
    ORDER BY other.observed_at DESC, other.id DESC LIMIT 1
)"""
"""The newest active fact that is newer than `m` and contradicts it: observed later, or at once and stored later."""
_OUTCOME = "(SELECT (total + 1.0) / (weight + 2.0) FROM memory_outcomes WHERE memory_id = m.id)"


class Traits(NamedTuple):
    """The traits of a memory that a step of scoring may read."""

    is_real: bool = False
    """Whether it is of a real run, by `env.sim_or_real`."""
    contradicted_by: int = 0
    """The newest active fact that is newer and contradicts it; 0 when there is none."""
    outcome: float | None = None
    """Estimated outcome of sessions in which it is recalled, in [0, 1]; None if no such session was rated."""


def read_traits(snapshot: Snapshot, ids: Collection[int]) -> Mapping[int, Traits]:
    """Read the traits of memories by one statement, or none if no memory in the database has any."""
    summary = overview(snapshot)
    columns = (
        _IS_REAL if summary.has_real else "",
        CONTRADICTED_BY if summary.has_contradictions else "",
        _OUTCOME if summary.has_outcomes else "",
    )
    if not ids or not any(columns):
        return {}
    values = ", ".join(column or "NULL" for column in columns)
    rows = snapshot.rows(
        f"SELECT m.id, {values} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value",
        (json.dumps(list(ids)),),
    )
    return {memory_id: Traits(bool(real), by or 0, outcome) for memory_id, real, by, outcome in rows}
