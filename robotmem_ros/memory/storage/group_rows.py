"""Undo the consolidation of facts whose status or text has changed since."""

from __future__ import annotations

from collections.abc import Mapping

from . import revisions
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction, json_array

_LEAVE = """
    DELETE FROM group_members WHERE memory_id IN (SELECT value FROM json_each(?1))
    OR representative_id IN (SELECT value FROM json_each(?1)) RETURNING memory_id
"""
_REPRESENTED = """
    SELECT m.id FROM memories AS r CROSS JOIN memories AS m ON m.superseded_by = r.id
    WHERE r.id = ?1 AND r.status = 'active' AND (?2 = 'invalidated' OR r.content <> ?3)
    AND m.status = 'superseded' AND m.status_reason = 'consolidated'
"""


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Remove memories that are gone, or have another status or text, from their groups."""
    ids = {row.id for row in old}
    if ids and (left := {memory_id for (memory_id,) in transaction.execute(_LEAVE, (json_array(ids),)).fetchall()}):
        revisions.touch(transaction, left - ids)  # nothing represents them any more


def represented(snapshot: Snapshot, memory_id: int, columns: Mapping[str, object]) -> list[int]:
    """Return the facts that a memory superseded when they were consolidated, if these columns change what it says."""
    status, content = columns.get("status"), columns.get("content")
    if status != "invalidated" and content is None:
        return []
    return [fact_id for (fact_id,) in snapshot.rows(_REPRESENTED, (memory_id, status, content))]
