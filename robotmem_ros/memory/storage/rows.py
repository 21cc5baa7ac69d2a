"""Write memories to their table and read them back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from ..clocks import FIRST_OF_WALL_CLOCKS, iso, nanoseconds
from ..errors import MALFORMED, MemoryNotFoundError, StorageError
from ..models import Kind, Memory, NewMemory, PerceptionData, Pose
from ..text.normal_form import digest, label_key, text_key
from . import fact_rows, group_rows, indexed_row, indexing, lived_days, revisions
from .decay import Decay
from .snapshot import Snapshot, Transaction, json_array
from .traits import CONTRADICTED_BY

_ELSEWHERE = frozenset({
    "kind", "pose", "tags", "as_object", "source", "identity", "import_key", "given", "decisions",
})  # fmt: skip
"""Fields of NewMemory that are no columns of the same name."""
COLUMNS = tuple(one.name for one in fields(NewMemory) if one.name not in _ELSEWHERE)
"""Fields of NewMemory that are columns of `memories`."""
_same = attrgetter(*COLUMNS)
_MORE = (
    "evidence_day", "type", "text_key", "label_key", "content_hash", *Pose._fields, "created_at", "updated_at", "uuid",
    "revision",
)  # fmt: skip
_NEW = f"memories (id, {', '.join((*COLUMNS, *_MORE))})"
_NEW_ROW = f"({', '.join('?' * (1 + len(COLUMNS) + len(_MORE)))})"
_ASSIGNED = {
    "content_hash": "iif(type = 'fact', :content_hash, NULL)",
    "received_at": "max(received_at, :received_at)",
}
"""Columns that do not just get their value."""
ACTIVE = {"status": "active", "status_reason": "", "superseded_by": None, "superseded_at": None}
"""Columns of a memory that is brought back."""
_NO_POSE = (None,) * len(Pose._fields)

_SIMILAR_IDS = """(
    SELECT json_group_array(other.id) FROM similar_facts AS s JOIN memories AS other ON other.id = s.other_id
    WHERE s.memory_id = m.id AND other.status = 'active'
)"""
_SOURCES = {
    "kind": "m.type",
    "context_json": "m.context",
    "first_seen": "o.first_seen",
    "last_seen": "o.last_seen",
    "times_seen": "o.times_seen",
    "confirmed": "o.confirmed",
    "contradicted_by": CONTRADICTED_BY,
    "similar_ids": _SIMILAR_IDS,
    "confidence": "{confidence}",
    "faded": "{faded}",
}
"""Fields of Memory that are no columns of `memories` of the same name."""
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "int": lambda stored: 0 if stored is None else int(stored),
    "str": lambda stored: "" if stored is None else str(stored),
    "float": float,
    "bool": bool,
    "Kind": Kind,
    "tuple[int, ...]": lambda stored: tuple(sorted(json.loads(stored))),
}
"""From what a column holds, in a damaged file of any type, to what a field has."""
_READ: Mapping[str, Callable[[Any], Any]] = {
    one.name: nanoseconds if one.name == "created_at" else _CONVERSIONS.get(str(one.type), lambda stored: stored)
    for one in fields(Memory)
    if one.name not in {"tags", "pose"}
}
_SELECTED = ", ".join(
    [
        *(_SOURCES.get(name, f"m.{name}") for name in _READ),
        *(f"m.{axis}" for axis in Pose._fields),
    ]
)


def insert(transaction: Transaction, new: NewMemory) -> int:
    """Store a memory and return its id."""
    return insert_all(transaction, [new])[0]


def insert_all(transaction: Transaction, new: Sequence[NewMemory]) -> Sequence[int]:
    """Store and index memories, and return their ids in their order. To be called in a transaction."""
    last = transaction.row("SELECT max(seq) FROM sqlite_sequence WHERE name = 'memories'")[0] or 0
    ids = range(last + 1, last + 1 + len(new))
    now = iso(time.time_ns())
    added = list(zip(ids, new, strict=True))
    days = lived_days.numbers(transaction, (max(one.observed_at, one.received_at) for one in new))
    revision = revisions.upcoming(transaction)
    values = [
        (*_values(memory_id, one, day, now), revisions.uuid7(memory_id), revision)
        for (memory_id, one), day in zip(added, days, strict=True)
    ]
    transaction.insert(_NEW, _NEW_ROW, values)
    indexing.index(transaction, ids)
    for memory_id, one in added:
        if one.tags:
            set_tags(transaction, memory_id, one.tags, given=not one.decisions or "tags" in one.given)
    return ids


def has_simulated_times(snapshot: Snapshot) -> bool:
    """Return whether a memory was observed by the clock of a simulation."""
    sql = "SELECT 1 FROM memories WHERE observed_at > 0 AND observed_at < ? LIMIT 1"
    return snapshot.row(sql, (FIRST_OF_WALL_CLOCKS,)) is not None


def exists(snapshot: Snapshot, memory_id: int) -> bool:
    """Return whether there is a memory of this id, active or not."""
    return snapshot.row("SELECT 1 FROM memories WHERE id = ?", (memory_id,)) is not None


def update(transaction: Transaction, memory_id: int, columns: Mapping[str, object]) -> bool:
    """Change columns of a memory, which gets the revision of the transaction, and what follows from them.

    `received_at` only grows. Return whether facts came back that it had superseded: it represents them only while it
    says what it said then. To be called in a transaction.
    """
    represented = group_rows.represented(transaction, memory_id, columns)
    write(transaction, memory_id, columns, revisions.CHANGED)
    if columns.keys() & {"observed_at", "received_at"}:
        lived_days.renew(transaction, memory_id)
    for fact_id in represented:
        update(transaction, fact_id, ACTIVE)
    return bool(represented)


def write(transaction: Transaction, memory_id: int, columns: Mapping[str, object], *more: str) -> None:
    """Write columns of a memory, and what follows from them in its row and in the indexes; `more` are assignments.

    To be called by what gives the memory a revision.
    """
    assigned = {**columns, **_derived(columns)}
    assignments = ", ".join([*(f"{name} = {_ASSIGNED.get(name, f':{name}')}" for name in assigned), *more])
    before = indexed_row.read(transaction, [memory_id]) if columns.keys() & indexed_row.COLUMNS else {}
    transaction.execute(f"UPDATE memories SET {assignments} WHERE id = :id", {**assigned, "id": memory_id})
    if before:
        indexing.exchange(transaction, before, indexed_row.changed(before, columns))


def delete(transaction: Transaction, memory_ids: Iterable[int]) -> int:
    """Delete memories for good, with all that was derived from them; return how many there were."""
    ids = list(memory_ids)
    indexing.unindex(transaction, ids)
    return revisions.bury(transaction, "memories", "id IN (SELECT value FROM json_each(?))", (json_array(ids),))


def count_usage(transaction: Transaction, counts: Mapping[int, int], now: int) -> None:
    """Count how often memories were recalled and returned until a time of the robot's clock, in nanoseconds.

    Notes are not counted: nothing follows from it.
    """
    when = iso(time.time_ns(), timespec="seconds")
    transaction.executemany(
        "UPDATE memories SET access_count = access_count + ?1, return_count = return_count + ?1, last_accessed = ?2, "
        "recalled_at = max(recalled_at, ?3) WHERE id = ?4 AND type <> 'note'",
        [(count, when, now, memory_id) for memory_id, count in counts.items()],
    )


def read(
    snapshot: Snapshot,
    memory_ids: Sequence[int],
    decay: Decay,
    *,
    include_inactive: bool = False,
) -> dict[int, Memory]:
    """Read the active memories with these ids and their decayed confidence, in two queries whatever their number."""
    ids = json.dumps(list(memory_ids))
    tags: dict[int, list[str]] = {}
    for memory_id, tag in snapshot.rows(
        "SELECT memory_id, tag FROM memory_tags WHERE memory_id IN (SELECT value FROM json_each(?)) ORDER BY tag",
        (ids,),
    ):
        tags.setdefault(memory_id, []).append(tag)
    confidence, faded = decay.confidence(), decay.has_faded()
    rows = snapshot.rows(
        f"SELECT {_SELECTED.format(confidence=confidence.sql, faded=faded.sql)} FROM memories AS m "
        "LEFT JOIN objects AS o ON o.memory_id = m.id "
        "WHERE m.id IN (SELECT value FROM json_each(?)) AND (? OR m.status = 'active')",
        (*confidence.arguments, *faded.arguments, ids, include_inactive),
    )
    return {row[0]: _memory(row, tags.get(row[0], ())) for row in rows}


def status_of(snapshot: Snapshot, memory_id: int) -> str:
    """Return `active`, `superseded` or `invalidated`.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    row = snapshot.row("SELECT status FROM memories WHERE id = ?", (memory_id,))
    if row is None:
        raise MemoryNotFoundError(memory_id)
    return str(row[0])


def why_inactive(snapshot: Snapshot, memory_id: int) -> str:
    """Return why a memory is not active, such as `consolidated, replaced by 7`; empty for an active one."""
    return statuses(snapshot, [memory_id]).get(memory_id, ("", ""))[1]


def statuses(snapshot: Snapshot, memory_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return the status of memories, and why those are not active that are not, such as `consolidated, replaced by 7`.

    Ids of no memory are left out.
    """
    found = snapshot.rows(
        "SELECT id, status, status_reason, superseded_by FROM memories WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(memory_ids)),),
    )
    return {memory_id: (status, _why(status, reason, by)) for memory_id, status, reason, by in found}


def stored_fact(snapshot: Snapshot, memory_id: int) -> NewMemory | None:
    """Return a fact as it would be stored again, with its decisions; None for what is no fact."""
    sql = f"SELECT {', '.join(COLUMNS)} FROM memories WHERE id = ? AND type = 'fact'"
    row = snapshot.row(sql, (memory_id,))
    if row is None:
        return None
    return NewMemory(
        kind=Kind.FACT,
        **dict(zip(COLUMNS, row, strict=True)),
        tags=tags_of(snapshot, memory_id),
        decisions=fact_rows.decisions_of(snapshot, memory_id),
    )


def tags_of(snapshot: Snapshot, memory_id: int) -> tuple[str, ...]:
    """Return the tags of a memory, in alphabetical order."""
    tags = snapshot.rows("SELECT tag FROM memory_tags WHERE memory_id = ? ORDER BY tag", (memory_id,))
    return tuple(tag for (tag,) in tags)


def perception_data(snapshot: Snapshot, memory_id: int) -> PerceptionData:
    """Return the data and metadata of an active memory.

    Raises:
        MemoryNotFoundError: no active memory has this id, or this one has neither.
    """
    check_active(snapshot, memory_id)
    kind, sense, data, metadata = snapshot.row(
        "SELECT type, perception_type, perception_data, perception_metadata FROM memories WHERE id = ?", (memory_id,)
    )
    if data is None and metadata is None:
        raise MemoryNotFoundError(memory_id, f"it is a {kind} without data and metadata")
    return PerceptionData(memory_id, sense or "", bytes(data or b""), metadata or "{}")


def all_perception_data(snapshot: Snapshot, memory_ids: Sequence[int]) -> dict[int, PerceptionData]:
    """Return the data and metadata of those of some memories, active or not, that have any."""
    found = snapshot.rows(
        "SELECT id, perception_type, perception_data, perception_metadata FROM memories "
        "WHERE id IN (SELECT value FROM json_each(?)) AND coalesce(perception_metadata, perception_data) IS NOT NULL",
        (json.dumps(list(memory_ids)),),
    )
    return {
        memory_id: PerceptionData(memory_id, sense or "", bytes(data or b""), metadata or "{}")
        for memory_id, sense, data, metadata in found
    }


def check_active(snapshot: Snapshot, memory_id: int) -> None:
    """Check that an active memory has this id; raises MemoryNotFoundError."""
    row = snapshot.row("SELECT status, status_reason FROM memories WHERE id = ?", (memory_id,))
    if row is None:
        raise MemoryNotFoundError(memory_id)
    if row[0] != "active":
        raise MemoryNotFoundError(memory_id, f"it is {row[0]}" + (f" ({row[1]})" if row[1] else ""))


def replace_tags(transaction: Transaction, memory_id: int, tags: Iterable[str], given: Collection[str]) -> None:
    """Replace the tags of a memory; those in `given` are of its callers."""
    transaction.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
    for tag in tags:
        set_tags(transaction, memory_id, [tag], given=tag in given)


def set_tags(transaction: Transaction, memory_id: int, tags: Iterable[str], *, given: bool) -> None:
    """Add tags to a memory; `given` are those of its caller, the others those of rules."""
    source = "user" if given else "auto"
    transaction.insert("memory_tags (memory_id, tag, source)", "(?, ?, ?)", [(memory_id, tag, source) for tag in tags])


def _why(status: str, reason: str, replacement: int | None) -> str:
    if status == "active":
        return ""
    return ", ".join(filter(None, (reason, f"replaced by {replacement}" if replacement is not None else "")))


def _derived(columns: Mapping[str, object]) -> dict[str, object]:
    derived: dict[str, object] = {}
    if isinstance(content := columns.get("content"), str):
        derived |= {"text_key": text_key(content), "content_hash": digest(content)}
    if isinstance(label := columns.get("label"), str):
        derived["label_key"] = label_key(label)
    return derived


def _values(memory_id: int, new: NewMemory, day: int, now: str) -> tuple[object, ...]:
    content_hash = digest(new.content) if new.kind is Kind.FACT else None
    pose = new.pose or _NO_POSE
    derived = day, new.kind.value, text_key(new.content), label_key(new.label), content_hash
    return (memory_id, *_same(new), *derived, *pose, now, "")


def _memory(row: Sequence[Any], tags: Iterable[str]) -> Memory:
    try:
        values = {name: convert(stored) for (name, convert), stored in zip(_READ.items(), row, strict=False)}
        pose = row[len(_READ) :]
        return Memory(**values, pose=None if pose[0] is None else Pose(*pose), tags=tuple(tags))
    except MALFORMED as cause:
        raise StorageError(f"read memory {row[0]}", cause) from cause
