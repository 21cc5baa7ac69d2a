"""Correct memories, withdraw them and bring them back; the history keeps the old values."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..clocks import iso
from ..context_path import points, values_of
from ..errors import InvalidFieldError, MemoryNotFoundError
from ..models import Change, Pose
from ..new_memory import TOLD
from . import rows
from .note_rows import check_changeable
from .rows import check_active, replace_tags, tags_of
from .snapshot import Snapshot, Transaction

MAX_CHANGES = 100
"""Number of changes kept of a memory, the latest."""
_PLACE = """
    SELECT frame_id, x IS NOT NULL, context, EXISTS (SELECT 1 FROM objects WHERE memory_id = m.id)
    FROM memories AS m WHERE id = ?
"""
_UPDATABLE = {*TOLD, "source", "frame_id", "label", "perception_type", "decay_rate", *Pose._fields}


def update(
    transaction: Transaction,
    memory_id: int,
    columns: Mapping[str, object],
    tags: tuple[str, ...] | None,
    *,
    tags_given: Collection[str] | None = None,
    change: str = "update",
    reason: str = "",
) -> None:
    """Change columns of an active memory and record their old values; tags replace the old tags unless they are None.

    `tags_given` are the tags that a caller gave, None for all; the others are of rules. `change` and `reason` describe
    the change in the history.

    Raises:
        MemoryNotFoundError: no active memory has this id.
        NoteError: it is a note.
    """
    check_active(transaction, memory_id)
    check_changeable(transaction, [memory_id])
    unknown = set(columns) - _UPDATABLE
    if unknown:
        raise ValueError(f"columns that cannot be updated: {sorted(unknown)}")
    if "frame_id" in columns:
        _check_frame(transaction, memory_id, columns)
    now = iso(time.time_ns())
    before = _before(transaction, memory_id, columns, tags)
    if before:
        record(transaction, memory_id, change, changed_at=now, reason=reason, before=before)
    rows.update(transaction, memory_id, {**columns, "updated_at": now})
    if tags is not None:
        replace_tags(transaction, memory_id, tags, tags if tags_given is None else tags_given)


def invalidate(transaction: Transaction, memory_ids: Sequence[int], reason: str) -> bool:
    """Withdraw active memories; return whether facts that they had superseded became active again.

    Raises:
        MemoryNotFoundError: no active memory has one of the ids.
        NoteError: one is a note.
    """
    represented = False
    for memory_id in memory_ids:
        check_active(transaction, memory_id)
        check_changeable(transaction, [memory_id])
        now = iso(time.time_ns())
        record(transaction, memory_id, "forget", changed_at=now, reason=reason)
        columns = {"status": "invalidated", "status_reason": reason, "updated_at": now}
        represented |= rows.update(transaction, memory_id, columns)
    return represented


def restore(transaction: Transaction, memory_ids: Sequence[int]) -> None:
    """Bring back memories that were withdrawn or superseded; a vector is computed again if it is gone.

    Raises:
        MemoryNotFoundError: there is no such memory, it is active, or it became a part of another object.
    """
    check_changeable(transaction, memory_ids)
    for memory_id in memory_ids:
        _restore(transaction, memory_id)


def _restore(transaction: Transaction, memory_id: int) -> None:
    row = transaction.row("SELECT status, status_reason, superseded_by FROM memories WHERE id = ?", (memory_id,))
    if row is None:
        raise MemoryNotFoundError(memory_id)
    status, reason, superseded_by = row
    if status == "active":
        raise MemoryNotFoundError(memory_id, "it is active; there is nothing to restore")
    merged_into = rows.replacement(transaction, memory_id)
    if merged_into is not None and transaction.row("SELECT 1 FROM objects WHERE memory_id = ?", (merged_into,)):
        raise MemoryNotFoundError(memory_id, f"it became a part of object {merged_into}, which has its sightings")
    before: dict[str, object] = {"status": status}
    if superseded_by is not None:
        before["superseded_by"] = superseded_by
    now = iso(time.time_ns())
    record(transaction, memory_id, "restore", changed_at=now, reason=reason, before=before)
    rows.update(transaction, memory_id, {**rows.ACTIVE, "updated_at": now})


def _before(
    snapshot: Snapshot, memory_id: int, columns: Mapping[str, object], tags: tuple[str, ...] | None
) -> dict[str, object]:
    # The old values of the columns that really change.
    names = list(columns)
    row = snapshot.row(f"SELECT {', '.join([*names, 'id'])} FROM memories WHERE id = ?", (memory_id,))
    old_values = dict(zip(names, row, strict=False))
    before = {name: old for name, old in old_values.items() if old != columns[name]}
    if not before.keys().isdisjoint(Pose._fields):
        before = {name: old for name, old in before.items() if name not in Pose._fields}
        before["pose"] = None if old_values["x"] is None else [old_values[axis] for axis in Pose._fields]
    if tags is not None:
        old_tags = [*tags_of(snapshot, memory_id)]
        if old_tags != sorted(tags):
            before["tags"] = old_tags
    return before


def _check_frame(snapshot: Snapshot, memory_id: int, columns: Mapping[str, object]) -> None:
    # One frame holds for the pose, for the positions of the context and for the sightings of an object.
    frame, has_pose, context, is_object = snapshot.row(_PLACE, (memory_id,))
    new = columns["frame_id"]
    if new == frame:
        return
    if has_pose and "x" not in columns:
        raise InvalidFieldError(
            "context.spatial.frame_id", new, f"differs from the frame {frame!r} of the memory's pose"
        )
    if is_object:
        raise InvalidFieldError("frame_id", new, f"differs from the frame {frame!r} of the object's sightings")
    has_positions = any(path.startswith("spatial.") for path, _ in points(values_of(context)))
    if has_positions and "context" not in columns:
        problem = f"differs from the frame {frame!r} of the positions in the context; give the context too"
        raise InvalidFieldError("frame_id", new, problem)


def record(
    transaction: Transaction,
    memory_id: int,
    change: str,
    *,
    changed_at: str,
    reason: str = "",
    before: Mapping[str, object] | None = None,
) -> None:
    """Record a change of a memory at a time in ISO 8601; `before` has the old values of the changed fields."""
    transaction.execute(
        "INSERT INTO memory_history (memory_id, changed_at, change, reason, before) VALUES (?, ?, ?, ?, ?)",
        (memory_id, changed_at, change, reason, json.dumps(before or {}, ensure_ascii=False)),
    )
    transaction.execute(
        "DELETE FROM memory_history WHERE memory_id = ?1 AND id <= "
        "(SELECT id FROM memory_history WHERE memory_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (memory_id, MAX_CHANGES),
    )


def history(snapshot: Snapshot, memory_id: int) -> tuple[Change, ...]:
    """Return the changes of a memory, newest first; of one that was superseded, by what is the first.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    status, reason = rows.status(snapshot, memory_id)
    changes = histories(snapshot, [memory_id]).get(memory_id, ())
    if status != "superseded":
        return changes
    sql = "SELECT coalesce(superseded_at, updated_at) FROM memories WHERE id = ?"
    (changed_at,) = snapshot.row(sql, (memory_id,))
    return (Change(changed_at, status, reason, {}), *changes)


def histories(snapshot: Snapshot, memory_ids: Sequence[int]) -> dict[int, tuple[Change, ...]]:
    """Return the changes of those of some memories that were changed, newest first."""
    changes_by_memory: dict[int, list[Change]] = {}
    for memory_id, changed_at, change, reason, before in snapshot.rows(
        "SELECT memory_id, changed_at, change, reason, before FROM memory_history "
        "WHERE memory_id IN (SELECT value FROM json_each(?)) ORDER BY memory_id, id DESC",
        (json.dumps(list(memory_ids)),),
    ):
        changes_by_memory.setdefault(memory_id, []).append(Change(changed_at, change, reason, json.loads(before)))
    return {memory_id: tuple(changes) for memory_id, changes in changes_by_memory.items()}


_ACTIVITY = """
    SELECT memory_id, change FROM (
        SELECT memory_id, change, min(id) FROM memory_history
        WHERE change IN ('forget', 'restore') AND changed_at > ?1 GROUP BY memory_id
    ) UNION ALL
    SELECT id, 'superseded' FROM memories
    WHERE status <> 'active' AND status = 'superseded' AND superseded_at > ?1  -- the first is what the index has
"""
_AS_IT_IS = {"content", "human_summary", "category", "perception_type", "label", "source"}


def activity(snapshot: Snapshot, at: str) -> dict[int, bool]:
    """Return whether memories that were withdrawn, replaced or restored after a time in ISO 8601 were active at it."""
    return {memory_id: change != "restore" for memory_id, change in snapshot.rows(_ACTIVITY, (at,))}


def before(snapshot: Snapshot, memory_ids: Sequence[int], at: str) -> dict[int, dict[str, Any]]:
    """Return the fields of some memories that were corrected after a time in ISO 8601, as they were at it."""
    return {memory_id: fields_before(some, at) for memory_id, some in histories(snapshot, memory_ids).items()}


def fields_before(newest_first: Iterable[Change], at: str) -> dict[str, Any]:
    """Return the fields of a memory that were corrected after a time in ISO 8601, as they were at it."""
    fields: dict[str, Any] = {}
    for change in newest_first:
        if change.changed_at > at:
            fields |= _fields(change.before)
    return fields


def _fields(columns: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in columns.items() if name in _AS_IT_IS}
    values |= {name: tuple(columns[name].splitlines()) for name in ("scope_files", "scope_entities") if name in columns}
    if "context" in columns:
        values["context_json"] = columns["context"]
    if "tags" in columns:
        values["tags"] = tuple(columns["tags"])
    if "pose" in columns:
        values["pose"] = None if columns["pose"] is None else Pose(*columns["pose"])
    return values
