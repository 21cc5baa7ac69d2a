"""Writes memories to their table and reads them back."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..clocks import iso, nanoseconds
from ..errors import MALFORMED, MemoryNotFoundError, StorageError
from ..models import Kind, Memory, NewMemory, PerceptionData, Pose
from ..text.labels import label_key
from ..text.subject import digest
from . import bulk, learning_rows
from .decay import Decay
from .indexing import index

_NEW = """memories (
    id, session_id, collection, type, content, human_summary, context, perception_type, perception_data,
    perception_metadata, label, label_key, category, scope_files, scope_entities, content_hash, confidence, observed_at,
    refreshed_at, frame_id, map_id, x, y, z, qx, qy, qz, qw, created_at, updated_at
)"""
_NEW_ROW = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')"
_NO_POSE = (None,) * 7
_COLUMNS = """
    m.id, m.type, m.content, m.human_summary, m.observed_at, m.created_at, m.frame_id, m.map_id, m.x, m.y, m.z, m.qx,
    m.qy, m.qz, m.qw, m.perception_type, m.label, {confidence}, m.category, m.context, m.session_id, m.collection,
    o.first_seen, o.last_seen, o.times_seen, o.confirmed, (
        SELECT other.id FROM contradictions AS c JOIN memories AS other ON other.id = c.other_id
        WHERE c.memory_id = m.id AND other.status = 'active' AND (other.observed_at, other.id) > (m.observed_at, m.id)
        ORDER BY other.observed_at DESC, other.id DESC LIMIT 1
    )
"""


def insert(connection: sqlite3.Connection, new: NewMemory) -> int:
    """Stores a memory and gives its id."""
    return insert_all(connection, [new])[0]


def insert_all(connection: sqlite3.Connection, new: Sequence[NewMemory]) -> Sequence[int]:
    """Store and index memories, and return their ids in their order. To be called in a transaction."""
    last = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'memories'").fetchone()[0] or 0
    ids = range(last + 1, last + 1 + len(new))
    now = iso(time.time_ns())
    added = list(zip(ids, new, strict=True))
    bulk.insert(connection, _NEW, _NEW_ROW, [(memory_id, *_values(one), now) for memory_id, one in added])
    index(connection, added)
    for memory_id, one in added:
        if one.tags:
            set_tags(connection, memory_id, one.tags, given=not one.decisions or "tags" in one.given)
    return ids


def exists(connection: sqlite3.Connection, memory_id: int) -> bool:
    """Whether there is a memory of this id, active or not."""
    return connection.execute("SELECT 1 FROM memories WHERE id = ?", (memory_id,)).fetchone() is not None


def delete(connection: sqlite3.Connection, memory_ids: Iterable[int]) -> int:
    """Delete memories for good, with all that was derived from them; return how many there were."""
    those = json.dumps(list(memory_ids))
    return connection.execute("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", (those,)).rowcount


def touch(connection: sqlite3.Connection, counts: Mapping[int, int], now: int) -> None:
    """Counts how often memories were recalled and returned until a time of the robot's clock, in nanoseconds."""
    when = iso(time.time_ns(), timespec="seconds")
    connection.executemany(
        "UPDATE memories SET access_count = access_count + ?1, return_count = return_count + ?1, last_accessed = ?2, "
        "refreshed_at = max(refreshed_at, ?3) WHERE id = ?4",
        [(count, when, now, memory_id) for memory_id, count in counts.items()],
    )


def read(connection: sqlite3.Connection, memory_ids: Sequence[int], decay: Decay) -> dict[int, Memory]:
    """The active memories with these ids, as sure as they are now, in two queries whatever their number."""
    ids = json.dumps(list(memory_ids))
    tags: dict[int, list[str]] = {}
    for memory_id, tag in connection.execute(
        "SELECT memory_id, tag FROM memory_tags WHERE memory_id IN (SELECT value FROM json_each(?)) ORDER BY tag",
        (ids,),
    ):
        tags.setdefault(memory_id, []).append(tag)
    confidence = decay.confidence()
    columns = _COLUMNS.format(confidence=confidence.sql)
    rows = connection.execute(
        f"SELECT {columns} FROM memories AS m LEFT JOIN objects AS o ON o.memory_id = m.id "
        "WHERE m.id IN (SELECT value FROM json_each(?)) AND m.status = 'active'",
        (*confidence.arguments, ids),
    )
    return {row[0]: _whole(row, tags.get(row[0], ())) for row in rows}


def counters(connection: sqlite3.Connection) -> dict[str, int]:
    """How many active memories there are: `fact`, `perception`, and `vector` for those that have one."""
    found = dict(connection.execute("SELECT name, n FROM counters"))
    return {name: int(found[name]) for name in ("fact", "perception", "vector")}


def count_in(connection: sqlite3.Connection, collection: str) -> int:
    """How many active memories a collection has."""
    sql = "SELECT coalesce(sum(n), 0) FROM collection_counters WHERE collection = ?"
    return int(connection.execute(sql, (collection,)).fetchone()[0])


def status_of(connection: sqlite3.Connection, memory_id: int) -> str:
    """`active`, `superseded` or `invalidated`.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    row = connection.execute("SELECT status FROM memories WHERE id = ?", (memory_id,)).fetchone()
    if row is None:
        raise MemoryNotFoundError(memory_id)
    return str(row[0])


def stored_fact(connection: sqlite3.Connection, memory_id: int) -> NewMemory | None:
    """A fact as it would be given to be stored again, with its decisions; None for what is no fact."""
    row = connection.execute(
        "SELECT content, collection, observed_at, frame_id, map_id, session_id, human_summary, context, confidence, "
        "category, scope_files, scope_entities FROM memories WHERE id = ? AND type = 'fact'",
        (memory_id,),
    ).fetchone()
    if row is None:
        return None
    tags = connection.execute("SELECT tag FROM memory_tags WHERE memory_id = ? ORDER BY tag", (memory_id,))
    content, collection, observed_at, frame_id, map_id, session_id, summary, context, confidence, category, *scope = row
    return NewMemory(
        Kind.FACT, content, collection, observed_at, frame_id, map_id, session_id, summary, context,
        confidence=confidence, category=category, tags=tuple(tag for (tag,) in tags), scope_files=scope[0],
        scope_entities=scope[1], decisions=learning_rows.decisions_of(connection, memory_id),
    )  # fmt: skip


def perception_data(connection: sqlite3.Connection, memory_id: int) -> PerceptionData:
    """The data and metadata of an active memory.

    Raises:
        MemoryNotFoundError: no active memory has this id, or this one has neither.
    """
    check_active(connection, memory_id)
    kind, sense, data, metadata = connection.execute(
        "SELECT type, perception_type, perception_data, perception_metadata FROM memories WHERE id = ?", (memory_id,)
    ).fetchone()
    if data is None and metadata is None:
        raise MemoryNotFoundError(memory_id, f"it is a {kind} without data and metadata")
    return PerceptionData(memory_id, sense or "", bytes(data or b""), metadata or "{}")


def check_active(connection: sqlite3.Connection, memory_id: int) -> None:
    """Raises MemoryNotFoundError unless an active memory has this id."""
    row = connection.execute("SELECT status, status_reason FROM memories WHERE id = ?", (memory_id,)).fetchone()
    if row is None:
        raise MemoryNotFoundError(memory_id)
    if row[0] != "active":
        raise MemoryNotFoundError(memory_id, f"it is {row[0]}" + (f" ({row[1]})" if row[1] else ""))


def replace_tags(connection: sqlite3.Connection, memory_id: int, tags: Iterable[str], given: Collection[str]) -> None:
    """Puts tags in the place of those that a memory had; those in `given` are of its callers."""
    connection.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
    for tag in tags:
        set_tags(connection, memory_id, [tag], given=tag in given)


def set_tags(connection: sqlite3.Connection, memory_id: int, tags: Iterable[str], *, given: bool) -> None:
    """Adds tags to a memory; `given` are those of its caller, the others those of rules."""
    source = "user" if given else "auto"
    connection.executemany(
        "INSERT INTO memory_tags (memory_id, tag, source) VALUES (?, ?, ?)", [(memory_id, tag, source) for tag in tags]
    )


def _values(new: NewMemory) -> tuple[object, ...]:
    return (
        new.session_id, new.collection, new.kind.value, new.content, new.human_summary, new.context,
        new.perception_type, new.perception_data, new.perception_metadata, new.label, label_key(new.label),
        new.category, new.scope_files, new.scope_entities, digest(new.content) if new.kind is Kind.FACT else None,
        new.confidence, new.observed_at, new.received_at, new.frame_id, new.map_id, *(new.pose or _NO_POSE),
    )  # fmt: skip


def _whole(row: Sequence[object], tags: Iterable[str]) -> Memory:
    try:
        return _memory(row, tags)
    except MALFORMED as cause:
        raise StorageError(f"read memory {row[0]}", cause) from cause


def _memory(row: Sequence[object], tags: Iterable[str]) -> Memory:
    (
        memory_id, kind, content, human_summary, observed_at, created_at, frame_id, map_id, x, y, z, qx, qy, qz, qw,
        perception_type, label, confidence, category, context, session_id, collection,
        first_seen, last_seen, times_seen, confirmed, contradicted_by,
    ) = row  # fmt: skip
    return Memory(
        id=int(memory_id),  # type: ignore[call-overload]
        kind=Kind(kind),
        content=str(content),
        human_summary=str(human_summary),
        observed_at=int(observed_at),  # type: ignore[call-overload]
        created_at=nanoseconds(str(created_at)),
        frame_id=str(frame_id),
        map_id=str(map_id),
        pose=None if x is None else Pose(x, y, z, qx, qy, qz, qw),  # type: ignore[arg-type]
        perception_type=str(perception_type or ""),
        label=str(label),
        confidence=float(confidence),  # type: ignore[arg-type]
        category=str(category),
        tags=tuple(tags),
        context_json=str(context),
        session_id=str(session_id),
        collection=str(collection),
        first_seen=first_seen,  # type: ignore[arg-type]
        last_seen=last_seen,  # type: ignore[arg-type]
        times_seen=int(times_seen or 0),  # type: ignore[call-overload]
        confirmed=bool(confirmed),
        contradicted_by=int(contradicted_by or 0),  # type: ignore[call-overload]
    )
