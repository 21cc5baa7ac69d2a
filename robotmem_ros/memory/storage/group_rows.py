"""Undo what consolidation made of facts that no longer say what they said then."""

from __future__ import annotations

import sqlite3

from . import bulk
from .indexed_row import IndexedRow, Rows

_LEAVE = """
    DELETE FROM group_members WHERE memory_id IN (SELECT value FROM json_each(?1))
    OR representative_id IN (SELECT value FROM json_each(?1))
"""
_SUPERSEDED = """
    SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.superseded_by = j.value
    WHERE m.status = 'superseded' AND m.status_reason = 'consolidated'
"""
_BRING_BACK = """
    UPDATE memories SET status = 'active', status_reason = '', superseded_by = NULL, superseded_at = NULL
    WHERE id IN (SELECT value FROM json_each(?))
"""


def leave(connection: sqlite3.Connection, old: Rows, new: Rows) -> list[int]:
    """Take memories out of their groups whose status or text changed; return the facts that they stood for.

    A memory represents those that were merged into it only while it says what it said then.
    """
    now = {row.id: row for row in new}
    changed = [(row, now[row.id]) for row in old if row.id in now]
    if not changed:
        return []
    connection.execute(_LEAVE, (bulk.listed(row.id for row, _ in changed),))
    withdrawn = bulk.listed(row.id for row, after in changed if _is_withdrawn(row, after))
    return [memory_id for (memory_id,) in connection.execute(_SUPERSEDED, (withdrawn,)).fetchall()]


def bring_back(connection: sqlite3.Connection, memory_ids: list[int]) -> None:
    """Make facts active again that consolidation superseded."""
    connection.execute(_BRING_BACK, (bulk.listed(memory_ids),))


def _is_withdrawn(before: IndexedRow, after: IndexedRow) -> bool:
    return before.status == "active" and (after.status == "invalidated" or after.content != before.content)
