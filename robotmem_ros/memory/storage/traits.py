"""Read the traits of memories that scoring uses for any query."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from .collection_rows import OF_OTHERS
from .snapshot import Snapshot

# Few contexts have the name, and to look for it is quicker than to read JSON, which a damaged row may lack.
_IS_REAL = """
    CASE WHEN instr(m.context, '"sim_or_real"') AND json_valid(m.context)
    THEN json_extract(m.context, '$.env.sim_or_real') IS 'real' ELSE 0 END
"""
CONTRADICTED_BY = """(
    SELECT other.id FROM contradictions AS c JOIN memories AS other ON other.id = c.other_id
    WHERE c.memory_id = m.id AND other.status = 'active' AND (other.observed_at, other.id) > (m.observed_at, m.id)
    ORDER BY other.observed_at DESC, other.id DESC LIMIT 1
)"""
"""The newest active fact that is newer than `m` and contradicts it: observed later, or at once and stored later."""


class Traits(NamedTuple):
    """The traits of a memory that a step of scoring may read; each None if no memory in the database has it."""

    is_real: bool | None = None
    """Whether it is of a real run, by `env.sim_or_real`."""
    contradicted_by: int | None = None
    """The newest active fact that is newer and contradicts it; None if there is none."""
    outcome: float | None = None
    """Estimated outcome of sessions in which it is recalled, in [0, 1]; None if no such session was rated."""
    is_of_another: bool | None = None
    """Whether another robot made it."""


_SQL = (
    ("SELECT 1", _IS_REAL),
    ("SELECT 1 FROM contradictions", CONTRADICTED_BY),
    (
        "SELECT 1 FROM memory_outcomes",
        "(SELECT (total + 1.0) / (weight + 2.0) FROM memory_outcomes WHERE memory_id = m.id)",
    ),
    (f"SELECT 1 FROM collections WHERE {OF_OTHERS.format(column='name')}", OF_OTHERS.format(column="m.collection")),
)
"""For each field of `Traits`: a cheap query that has a row if a memory may have it, and its value of the memory `m`."""


def read_traits(snapshot: Snapshot, ids: Collection[int]) -> Mapping[int, Traits]:
    """Read the traits of memories by one statement, or none if no memory in the database has any."""
    columns = snapshot.read_once(_columns)
    if not ids or not any(columns):
        return {}
    values = ", ".join(column or "NULL" for column in columns)
    rows = snapshot.rows(
        f"SELECT m.id, {values} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value",
        (json.dumps(list(ids)),),
    )
    return {row[0]: Traits._make(row[1:]) for row in rows}


def _columns(snapshot: Snapshot) -> list[str]:
    # In the order of the fields; empty for a trait that no memory has.
    is_present = snapshot.row("SELECT " + ", ".join(f"EXISTS ({query})" for query, _ in _SQL))
    return [column if has_any else "" for has_any, (_, column) in zip(is_present, _SQL, strict=True)]
