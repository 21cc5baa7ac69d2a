"""What memories were before: written in the transaction that changes them, read back newest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from ..models import Change

KEPT = 100
"""Of one memory so many changes are kept, the latest."""


def record(
    connection: sqlite3.Connection,
    memory_id: int,
    change: str,
    *,
    when: str,
    reason: str = "",
    before: Mapping[str, object] | None = None,
) -> None:
    """Keeps what a memory was before a change, at a time in ISO 8601; `before` has the changed fields."""
    connection.execute(
        "INSERT INTO memory_history (memory_id, changed_at, change, reason, before) VALUES (?, ?, ?, ?, ?)",
        (memory_id, when, change, reason, json.dumps(before or {}, ensure_ascii=False)),
    )
    connection.execute(
        "DELETE FROM memory_history WHERE memory_id = ?1 AND id <= "
        "(SELECT id FROM memory_history WHERE memory_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (memory_id, KEPT),
    )


def changes(connection: sqlite3.Connection, memory_id: int) -> tuple[Change, ...]:
    """The changes of a memory that are kept, newest first."""
    found = connection.execute(
        "SELECT changed_at, change, reason, before FROM memory_history WHERE memory_id = ? ORDER BY id DESC",
        (memory_id,),
    )
    return tuple(Change(when, change, reason, json.loads(before)) for when, change, reason, before in found)
