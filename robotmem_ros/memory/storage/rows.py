"""Write memories to their table and read them back, with what scoring and timelines read of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from ..clocks import FIRST_OF_WALL_CLOCKS, iso, nanoseconds
from ..conditions.decay import DEFAULT_CONFIDENCE, Decay
from ..errors import MALFORMED, MemoryNotFoundError, StorageError
from ..fellow_robots import is_of_another
from ..geometry import Covariance
from ..models import Kind, Memory, NewMemory, PerceptionData, Pose, Size
from ..text.normal_form import digest, label_key
from . import fact_rows, lived_days, revisions, sighting_rows, vector_rows
from .snapshot import Snapshot, Transaction, json_array

OF_OTHERS = "{column} >= '@' AND {column} < 'A'"
"""Whether a column names a collection of another robot."""
CONTRADICTED_BY = """(
    SELECT other.id FROM fact_links AS c JOIN memories AS other ON other.id = c.other_id
    WHERE c.kind = 'contradiction' AND c.memory_id = m.id AND other.status = 'active'
    AND (other.observed_at, other.id) > (m.observed_at, m.id)
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
    ("SELECT 1 FROM fact_links WHERE kind = 'contradiction'", CONTRADICTED_BY),
    (
        "SELECT 1 FROM memory_outcomes",
        "(SELECT (total + 1.0) / (weight + 2.0) FROM memory_outcomes WHERE memory_id = m.id)",
    ),
    ("SELECT 1 FROM memories WHERE adopted", OF_OTHERS.format(column="m.collection")),
)
"""For each field of `Traits` but `is_real`, which a table has: a cheap query that has a row if any memory may have it,
and its value of the memory `m`."""


def read_traits(snapshot: Snapshot, ids: Collection[int]) -> Mapping[int, Traits]:
    """Read the traits of memories but `is_real` by one statement, or none if no memory in the database has any."""
    columns = snapshot.read_once(_columns)
    if not ids or not any(columns):
        return {}
    values = ", ".join(column or "NULL" for column in columns)
    rows = snapshot.rows(
        f"SELECT m.id, {values} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value",
        (json_array(ids),),
    )
    return {row[0]: Traits(None, *row[1:]) for row in rows}


def _columns(snapshot: Snapshot) -> list[str]:
    # In the order of the fields; empty for a trait that no memory has.
    is_present = snapshot.row("SELECT " + ", ".join(f"EXISTS ({query})" for query, _ in _SQL))
    return [column if has_any else "" for has_any, (_, column) in zip(is_present, _SQL, strict=True)]


_ENTRY = f"""
    m.id, m.observed_at, m.type, m.category, m.label, m.tags, substr(m.content, 1, {{length}}), m.collection,
    m.session_id, {{confidence}}, m.status, m.frame_id, m.map_id, {", ".join(f"m.{axis}" for axis in Pose._fields)}
"""


def timeline_entries(snapshot: Snapshot, ids: Sequence[int], decay: Decay, *, length: int) -> list[tuple[Any, ...]]:
    """Return what a timeline tells of some memories, in their order. Of a content so many characters are read."""
    return snapshot.rows(
        f"SELECT {_ENTRY.format(confidence=decay.confidence(), length=length)} FROM json_each(?) AS j "
        "CROSS JOIN memories AS m ON m.id = j.value ORDER BY j.key",
        (json_array(ids),),
    )


_ELSEWHERE = frozenset({
    "kind", "pose", "size", "tags", "as_object", "stream", "identity", "import_key", "given", "decisions",
})  # fmt: skip
"""Fields of NewMemory that are no columns of `memories`."""
COLUMNS = tuple(field.name for field in fields(NewMemory) if field.name not in _ELSEWHERE)
"""Fields of NewMemory that are columns of `memories`."""
SIZE_COLUMNS = tuple(f"size_{axis}" for axis in Size._fields)
_column_values = attrgetter(*COLUMNS)
_OTHER_COLUMNS = (
    "evidence_day", "type", "content_hash", "tags", "decisions", *Pose._fields, *SIZE_COLUMNS,
    "created_at", "updated_at", "uuid", "revision",
)  # fmt: skip
_NEW = f"memories (id, {', '.join((*COLUMNS, *_OTHER_COLUMNS))})"
_NEW_ROW = f"({', '.join('?' * (1 + len(COLUMNS) + len(_OTHER_COLUMNS)))})"
_ASSIGNED = {
    "content_hash": "iif(type = 'fact', :content_hash, NULL)",
    "received_at": "max(received_at, :received_at)",
}
"""SQL for columns that are not simply set to the value."""
ACTIVE = {"status": "active", "status_reason": "", "superseded_by": None, "superseded_at": None}
"""Columns that make a memory active again."""
# AUTOINCREMENT would write another page with each memory. The setting is the greatest id that was deleted as such.
_LAST_ID = """
    SELECT max(coalesce((SELECT max(id) FROM memories), 0), CAST(value AS INTEGER)) FROM settings
    WHERE name = 'last_memory'
"""
_NO_POSE = (None,) * len(Pose._fields)
_NO_SIZE = (None,) * len(Size._fields)

_STATUSES = """
    WITH RECURSIVE chain (id, last, length) AS (
        SELECT value, value, 0 FROM json_each(?)
        UNION ALL SELECT chain.id, m.superseded_by, length + 1 FROM chain JOIN memories AS m ON m.id = chain.last
        WHERE m.superseded_by IS NOT NULL AND length < 100
    )
    SELECT m.id, m.status, m.status_reason, nullif(last, m.id), max(length) FROM chain JOIN memories AS m USING (id)
    GROUP BY m.id
"""
_SIMILAR_IDS = """(
    SELECT json_group_array(other.id) FROM fact_links AS s JOIN memories AS other ON other.id = s.other_id
    WHERE s.kind = 'similar' AND s.memory_id = m.id AND other.status = 'active'
)"""
_SOURCES = {
    "kind": "m.type",
    "context_json": "m.context",
    "first_seen": "o.first_seen",
    "last_seen": "o.last_seen",
    "times_seen": "o.times_seen",
    "confirmed": "o.confirmed",
    "first_absent": "iif(o.confirmed, NULL, (SELECT max(first_absent) FROM stays WHERE memory_id = m.id))",
    "contradicted_by": CONTRADICTED_BY,
    "similar_ids": _SIMILAR_IDS,
    "confidence": "{confidence}",
    "faded": f"m.confidence >= {DEFAULT_CONFIDENCE}",  # whether it was sure once, see `_memory`
}
"""Fields of Memory that are no columns of `memories` of the same name."""
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "created_at": nanoseconds,
    "int": lambda value: 0 if value is None else int(value),
    "str": lambda value: "" if value is None else str(value),
    "float": float,
    "bool": bool,
    "Kind": Kind,
    "tuple[str, ...]": lambda value: tuple(str(value).splitlines()),
    "tags": lambda value: () if value == "{}" else tuple(sorted(json.loads(value))),
    "tuple[int, ...]": lambda value: () if value == "[]" else tuple(sorted(json.loads(value))),
}
"""Conversions of column values, which have any type in a damaged file, to fields: of one, or of a type."""
_READ: Mapping[str, Callable[[Any], Any]] = {
    field.name: _CONVERSIONS.get(field.name) or _CONVERSIONS.get(str(field.type), lambda value: value)
    for field in fields(Memory)
    if field.name not in ("pose", "size", "presence", "position_covariance", "change", "moved_from")
}
_AS_STORED = {"int": int, "str": str, "float": float}
_RIGHT = [
    None if field.name in _CONVERSIONS else _AS_STORED.get(str(field.type))
    for field in fields(Memory)
    if field.name in _READ
]
"""Of each of these fields the type of a value that needs no conversion."""
_COVARIANCES = len(Covariance._fields)
_MEMORY_COLUMNS = ", ".join(
    [
        *(_SOURCES.get(name, f"m.{name}") for name in _READ),
        *(f"m.{axis}" for axis in Pose._fields),
        *(f"m.{name}" for name in SIZE_COLUMNS),
        *(f"o.v{part}" for part in Covariance._fields),
    ]
)


_TOTALS = """
    SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM memories WHERE content_hash IS NOT NULL),
    (SELECT count(*) FROM memories WHERE type = 'note')
"""
_INACTIVE = "SELECT type, count(*) FROM memories WHERE status <> 'active' GROUP BY type"
_SAID = "SELECT status, content, human_summary, type FROM memories WHERE id = ?"
_SAYING = frozenset({"status", "content", "human_summary"})


def insert(transaction: Transaction, new: NewMemory) -> int:
    """Store a memory and return its id."""
    return insert_all(transaction, [new])[0]


def insert_all(transaction: Transaction, new: Sequence[NewMemory]) -> Sequence[int]:
    """Store memories, and return their ids in their order. To be called in a transaction."""
    last = last_id(transaction)
    ids = range(last + 1, last + 1 + len(new))
    now = iso(time.time_ns())
    pairs = list(zip(ids, new, strict=True))
    days = lived_days.numbers(transaction, (max(memory.observed_at, memory.received_at) for memory in new))
    revision = transaction.revision
    values = [
        (*_values(memory_id, memory, day, now), revisions.uuid7(memory_id), revision)
        for (memory_id, memory), day in zip(pairs, days, strict=True)
    ]
    transaction.insert(_NEW, _NEW_ROW, values)
    texts = {
        memory_id: vector_rows.embedded_text(memory.kind.value, memory.human_summary, memory.content)
        for memory_id, memory in pairs
    }
    vector_rows.exchange(transaction, (), texts)
    return ids


def totals(snapshot: Snapshot) -> dict[str, int]:
    """Return the numbers of active memories by kind, and of all as `memory`, by counting rows of indexes."""
    memories, facts, notes = snapshot.row(_TOTALS)
    inactive = dict(snapshot.rows(_INACTIVE))
    kinds = {"fact": facts, "perception": memories - facts - notes, "note": notes}
    kinds = {kind: number - inactive.get(kind, 0) for kind, number in kinds.items()}
    return kinds | {"memory": sum(kinds.values())}


def has_simulated_times(snapshot: Snapshot) -> bool:
    """Return whether a memory was observed by the clock of a simulation."""
    sql = "SELECT 1 FROM memories WHERE observed_at > 0 AND observed_at < ? LIMIT 1"
    return snapshot.row(sql, (FIRST_OF_WALL_CLOCKS,)) is not None


def last_id(snapshot: Snapshot) -> int:
    """Return the greatest id that a memory ever had; 0 if there never was one."""
    return int(snapshot.row(_LAST_ID)[0])


def update(transaction: Transaction, memory_id: int, columns: Mapping[str, object]) -> bool:
    """Change columns of a memory and the values that follow from them; the memory gets a new revision.

    `received_at` only grows. Return whether facts that the memory had superseded became active again: it represents
    them only while its text stays the same. To be called in a transaction.
    """
    represented = fact_rows.represented(transaction, memory_id, columns)
    write(transaction, memory_id, columns, revisions.SET_REVISION)
    if columns.keys() & {"observed_at", "received_at"}:
        lived_days.renew(transaction, memory_id)
    for fact_id in represented:
        update(transaction, fact_id, ACTIVE)
    return bool(represented)


def write(transaction: Transaction, memory_id: int, columns: Mapping[str, object], *extra_assignments: str) -> None:
    """Write columns of a memory with extra assignments, and what follows from them: columns, texts, vector, groups.

    The caller must give the memory a revision.
    """
    content = columns.get("content")
    assigned = {**columns, **({"content_hash": digest(content)} if isinstance(content, str) else {})}
    assignments = ", ".join([*(f"{name} = {_ASSIGNED.get(name, f':{name}')}" for name in assigned), *extra_assignments])
    before = transaction.row(_SAID, (memory_id,)) if columns.keys() & _SAYING else None
    has_text = not columns.keys().isdisjoint(OFFERED)
    if has_text:
        _withdraw_texts(transaction, [memory_id])
    transaction.execute(f"UPDATE memories SET {assignments} WHERE id = :id", {**assigned, "id": memory_id})
    if has_text:
        _offer_texts(transaction, [memory_id])
    if before is not None and (after := transaction.row(_SAID, (memory_id,))) != before:
        status, content, summary, kind = after
        texts = {memory_id: vector_rows.embedded_text(kind, summary, content)} if status == "active" else {}
        vector_rows.exchange(transaction, [memory_id], texts)
        if (status, content) != before[:2]:
            fact_rows.leave_groups(transaction, [memory_id])


def delete(transaction: Transaction, memory_ids: Iterable[int]) -> int:
    """Delete memories for good, with all rows derived from them; return their number."""
    ids, last = list(memory_ids), last_id(transaction)
    if last in ids:
        transaction.execute("UPDATE settings SET value = ? WHERE name = 'last_memory'", (last,))
    _withdraw_texts(transaction, ids)
    vector_rows.exchange(transaction, ids, {})
    fact_rows.unlink(transaction, ids)
    fact_rows.leave_groups(transaction, ids)
    return revisions.bury(transaction, "memories", "id IN (SELECT value FROM json_each(?))", (json_array(ids),))


def count_usage(transaction: Transaction, counts: Mapping[int, int], now: int) -> None:
    """Count how often memories were recalled and returned until a time of the robot's clock, in nanoseconds.

    Notes are not counted: no ranking or budget reads their counts.
    """
    accessed_at = iso(time.time_ns(), timespec="seconds")
    transaction.executemany(
        "UPDATE memories SET access_count = access_count + ?1, return_count = return_count + ?1, last_accessed = ?2, "
        "recalled_at = max(recalled_at, ?3) WHERE id = ?4 AND type <> 'note'",
        [(count, accessed_at, now, memory_id) for memory_id, count in counts.items()],
    )


def read(
    snapshot: Snapshot,
    memory_ids: Sequence[int],
    decay: Decay,
    *,
    include_inactive: bool = False,
) -> dict[int, Memory]:
    """Read the active memories with these ids and their decayed confidence, in one query whatever their number."""
    rows = snapshot.rows(
        f"SELECT {_MEMORY_COLUMNS.format(confidence=decay.confidence())} FROM memories AS m "
        "LEFT JOIN objects AS o ON o.memory_id = m.id "
        "WHERE m.id IN (SELECT value FROM json_each(?)) AND (? OR m.status = 'active')",
        (json_array(memory_ids), include_inactive),
    )
    memories = {row[0]: _memory(row) for row in rows}
    objects = [memory.id for memory in memories.values() if memory.times_seen]
    presences = sighting_rows.presences(snapshot, objects, decay.now) if objects else {}
    for memory_id, presence in presences.items():
        memories[memory_id] = replace(memories[memory_id], presence=presence)
    return memories


def status(snapshot: Snapshot, memory_id: int) -> tuple[str, str]:
    """Return the status of a memory, and why it is not active, as `statuses` does.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    status_and_reason = statuses(snapshot, [memory_id]).get(memory_id)
    if status_and_reason is None:
        raise MemoryNotFoundError(memory_id)
    return status_and_reason


def statuses(snapshot: Snapshot, memory_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return the status of memories, and why those are not active that are not, such as `consolidated, replaced by 7`.

    The status is `active`, `superseded` or `invalidated`. Ids of no memory are left out. What was replaced more than
    once names the last one.
    """
    rows = snapshot.rows(_STATUSES, (json_array(memory_ids),))
    return {memory_id: (status, _inactive_reason(status, reason, by)) for memory_id, status, reason, by, _ in rows}


def replacement(snapshot: Snapshot, memory_id: int) -> int | None:
    """Return what replaced a memory that was superseded; if that was replaced too, the last one. None for others."""
    row = snapshot.row(_STATUSES, (json_array([memory_id]),))
    return None if row is None or row[3] is None else int(row[3])


def stored_fact(snapshot: Snapshot, memory_id: int) -> NewMemory | None:
    """Return a fact as it would be stored again, with its decisions; None for other memories."""
    sql = f"SELECT {', '.join(COLUMNS)}, tags, decisions FROM memories WHERE id = ? AND type = 'fact'"
    row = snapshot.row(sql, (memory_id,))
    if row is None:
        return None
    *values, tags, decisions = row
    return NewMemory(
        kind=Kind.FACT,
        **dict(zip(COLUMNS, values, strict=True)),
        tags=tuple(sorted(json.loads(tags))),
        decisions=fact_rows.decisions_in(decisions),
    )


def tags_of(snapshot: Snapshot, memory_id: int) -> tuple[str, ...]:
    """Return the tags of a memory, in alphabetical order."""
    return tuple(sorted(tag_sources(snapshot, memory_id)))


def tag_sources(snapshot: Snapshot, memory_id: int) -> dict[str, str]:
    """Return the tags of a memory, each with its source: `user` or `auto`."""
    sources: dict[str, str] = json.loads(snapshot.row("SELECT tags FROM memories WHERE id = ?", (memory_id,))[0])
    return sources


def perception_data(snapshot: Snapshot, memory_id: int) -> PerceptionData:
    """Return the data and metadata of an active memory.

    Raises:
        MemoryNotFoundError: no active memory has this id, or this one has neither.
    """
    check_active(snapshot, memory_id)
    data = all_perception_data(snapshot, [memory_id])
    if not data:
        (kind,) = snapshot.row("SELECT type FROM memories WHERE id = ?", (memory_id,))
        raise MemoryNotFoundError(memory_id, f"it is a {kind} without data and metadata")
    return data[memory_id]


def all_perception_data(snapshot: Snapshot, memory_ids: Sequence[int]) -> dict[int, PerceptionData]:
    """Return the data and metadata of those of some memories, active or not, that have any."""
    rows = snapshot.rows(
        "SELECT id, perception_type, perception_data, perception_metadata FROM memories "
        "WHERE id IN (SELECT value FROM json_each(?)) AND coalesce(perception_metadata, perception_data) IS NOT NULL",
        (json_array(memory_ids),),
    )
    return {
        memory_id: PerceptionData(memory_id, sense or "", bytes(data or b""), metadata or "{}")
        for memory_id, sense, data, metadata in rows
    }


def check_active(snapshot: Snapshot, memory_id: int) -> None:
    """Check that an active memory has this id; raises MemoryNotFoundError, which names what replaced it."""
    row = snapshot.row(_STATUSES, (json_array([memory_id]),))
    if row is None:
        raise MemoryNotFoundError(memory_id)
    _, status, reason, by, _ = row
    if status != "active":
        ending = "" if by is None else f", replaced by {by}"
        raise MemoryNotFoundError(memory_id, f"it is {status}{f' ({reason})' if reason else ''}{ending}")


def replace_tags(transaction: Transaction, memory_id: int, tags: Iterable[str], user_tags: Collection[str]) -> None:
    """Replace the tags of a memory; those in `user_tags` are of its callers, the others of rules."""
    write(transaction, memory_id, {"tags": _tags_json(tags, user_tags)})


def _inactive_reason(status: str, reason: str, replacement: int | None) -> str:
    if status == "active":
        return ""
    return ", ".join(filter(None, (reason, f"replaced by {replacement}" if replacement is not None else "")))


def _values(memory_id: int, new: NewMemory, day: int, now: str) -> tuple[object, ...]:
    content_hash = digest(new.content) if new.kind is Kind.FACT else None
    geometry = (*(new.pose or _NO_POSE), *(new.size or _NO_SIZE))
    derived = day, new.kind.value, content_hash, _new_tags(new)
    return (memory_id, *_column_values(new), *derived, fact_rows.as_json(new.decisions), *geometry, now, "")


def _new_tags(new: NewMemory) -> str:
    return _tags_json(new.tags, new.tags if not new.decisions or "tags" in new.given else ())


def _tags_json(tags: Iterable[str], user_tags: Collection[str]) -> str:
    return json.dumps({tag: "user" if tag in user_tags else "auto" for tag in tags}, ensure_ascii=False)


def _memory(row: Sequence[Any]) -> Memory:
    try:
        values: dict[str, Any] = {
            name: value if type(value) is right else convert(value)
            for (name, convert), right, value in zip(_READ.items(), _RIGHT, row, strict=False)
        }
        values["faded"] = values["faded"] and values["confidence"] < DEFAULT_CONFIDENCE
        rest = row[len(_READ) :]
        pose, size, covariance = rest[: len(_NO_POSE)], rest[len(_NO_POSE) : -_COVARIANCES], rest[-_COVARIANCES:]
        return Memory(
            **values,
            pose=None if pose[0] is None else Pose(*pose),
            size=None if size[0] is None else Size(*size),
            position_covariance=None if covariance[0] is None else Covariance(*covariance),
        )
    except MALFORMED as cause:
        raise StorageError(f"read memory {row[0]}", cause) from cause


OFFERED = ("content", "human_summary", "scope_files", "scope_entities", "label")
"""Columns of `memories` that are offered to other programs, as an ordinary FTS5 table: nothing here asks it."""
_TEXTS = ", ".join(OFFERED)
_OFFERED_AT_ONCE = 4096
"""Texts that are offered in one transaction, in some tenths of a second."""
_LAST_OFFERED = "(SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'indexed_texts')"
"""The last memory whose text is offered, in SQL."""
_OF_OFFERED = f"FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND id <= {_LAST_OFFERED}"


def _offer_texts(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Offer the texts of memories that were changed; a new one waits for maintenance."""
    sql = f"INSERT INTO memories_fts (rowid, {_TEXTS}) SELECT id, {_TEXTS} {_OF_OFFERED}"
    transaction.execute(sql, (json_array(memory_ids),))


def _withdraw_texts(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Take back the texts of memories, before they are changed or deleted."""
    sql = f"INSERT INTO memories_fts (memories_fts, rowid, {_TEXTS}) SELECT 'delete', id, {_TEXTS} {_OF_OFFERED}"
    transaction.execute(sql, (json_array(memory_ids),))


def has_texts_to_offer(snapshot: Snapshot) -> bool:
    """Return whether a text is not offered to other programs yet."""
    return bool(snapshot.row(f"SELECT EXISTS (SELECT 1 FROM memories WHERE id > {_LAST_OFFERED})")[0])


def offer_next_texts(transaction: Transaction) -> None:
    """Offer the next texts to other programs, some thousand at once."""
    ids = transaction.ids(f"SELECT id FROM memories WHERE id > {_LAST_OFFERED} ORDER BY id LIMIT {_OFFERED_AT_ONCE}")
    if ids:
        transaction.execute("UPDATE settings SET value = ? WHERE name = 'indexed_texts'", (ids[-1],))
        _offer_texts(transaction, ids)


def withdraw_all_texts(transaction: Transaction) -> None:
    """Take back all texts, whatever is offered; maintenance offers them again."""
    transaction.execute("INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')")
    transaction.execute("UPDATE settings SET value = 0 WHERE name = 'indexed_texts'")


_PLACES = """
    SELECT label, collection, x, y, z, qx, qy, qz, qw FROM memories
    WHERE perception_type = 'place' AND status = 'active' AND x IS NOT NULL AND frame_id = ? AND map_id = ?
    ORDER BY observed_at, id
"""


def named_places(snapshot: Snapshot, frame_id: str, map_id: str) -> dict[str, Pose]:
    """Return the poses of the robot's own places in a frame of a map, by the keys of their names.

    Of several places with one name, the last one counts.
    """
    rows = snapshot.rows(_PLACES, (frame_id, map_id))
    return {label_key(label): Pose(*pose) for label, collection, *pose in rows if not is_of_another(collection)}
