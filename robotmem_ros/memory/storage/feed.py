"""Read the changes of a file after a revision as batches of units in JSON, and apply such batches to another file.

Units are memories, sessions, maps, tags and areas, each with its dependent rows. References to other units are UUIDs.
Derived data are left out, and so are notes, which belong to their files.

A file that applies a batch stores what is newer, and deletes what was deleted. A unit has one UUID in all files. Of two
versions by one robot, the version with the higher revision is newer. Of two versions by two robots, the version changed
later is newer, then that of the robot with the greater name. A deletion is final: a deleted unit is never stored again.
So a batch can be applied twice, late, or in another file.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from typing import Any, NamedTuple

from ..batch import Applied, Batch, Cursor
from ..conditions.decay import LATEST_DAY
from ..errors import MALFORMED, InvalidFieldError, RewoundError
from ..fellow_robots import is_of_another
from ..map_values import read_grid
from ..models import Kind, NewMemory, Pose, Similarity, Size, Vector
from ..new_unit import check_deleted, check_unit
from ..text.normal_form import tag_key
from ..validation import compact_json
from . import codec, fact_rows, lived_days, map_rows, object_rows, purge_rows, revisions, rows, tag_rows, vector_rows
from .snapshot import Snapshot, Transaction

Row = dict[str, Any]
JSON_COLUMNS = frozenset({
    "context", "tags", "decisions", "perception_metadata", "before", "votes", "sources", "sizes", "fact", "polygons",
})  # fmt: skip
"""Columns that hold JSON."""
BINARY_COLUMNS = frozenset({"perception_data", "cells"})


class Part(NamedTuple):
    """A table with rows that belong to one memory, and their order."""

    table: str
    order: str = "id"


PARTS = {
    "object": Part("objects", "memory_id"),
    "sightings": Part("sightings"),
    "stays": Part("stays", "first_seen"),
    "history": Part("memory_history"),
    "contributions": Part("contributions"),
    "outcomes": Part("memory_outcomes", "memory_id"),
}
"""Tables of rows that belong to one memory, by the names of their lists."""
LINKS = {
    "neighbours": "neighbours",
    "contradictions": "(SELECT memory_id, other_id, reason FROM fact_links WHERE kind = 'contradiction')",
    "similar": "(SELECT memory_id, other_id, reason AS method, similarity FROM fact_links WHERE kind = 'similar')",
}
"""Links between two memories as tables in SQL, by the names of their lists."""
_LOCAL = {
    "content_hash", "evidence_day", "superseded_by", "represented_by", "origin", "adopted", "file_id",
    "digest",
}  # fmt: skip
"""Columns of units that are derived, or mean something in this file alone."""
_TABLES = {"memory": "memories", "session": "sessions", "map": "occupancy_grids", "tag": "tag_meta", "areas": "areas"}
_NAMED = "(SELECT lower(hex(uuid)) FROM memories AS s WHERE s.id = memories.{})"
_OTHERS = ("session", "map", "tag", "areas")
_RECALLS = """
    SELECT lower(hex(m.uuid)), r.share FROM session_recalls AS r JOIN memories AS m ON m.id = r.memory_id
    WHERE r.session_id = ? ORDER BY m.id
"""
_IN_IDS = "IN (SELECT value FROM json_each(?))"
_REFERENCES = """
    SELECT m.id FROM memories AS m WHERE m.revision > ?2 AND m.type <> 'note' AND m.id IN (
        SELECT superseded_by FROM memories WHERE id IN (SELECT value FROM json_each(?1))
        UNION SELECT represented_by FROM memories WHERE id IN (SELECT value FROM json_each(?1))
    )
"""


def memories(snapshot: Snapshot, memory_ids: Sequence[int], max_data: int | None = None) -> list[Row]:
    """Return memories with their dependent rows, in the order of the ids; missing ids are skipped.

    Raw data of more than `max_data` bytes are left out, and not even read.
    """
    ids = json.dumps(list(memory_ids))
    columns = "*" if max_data is None else _columns(snapshot, max_data)
    units = {
        row["id"]: row
        for row in _units(
            snapshot, "memory", f"id {_IN_IDS}", (ids,),
            f"{columns}, {LATEST_DAY} - evidence_day AS evidence_age, "
            f"{_NAMED.format('superseded_by')} AS replacement, {_NAMED.format('represented_by')} AS [group]",
        )
    }  # fmt: skip
    for row in units.values():
        row |= {name: [] for name in (*PARTS, *LINKS)}
    for name, (table, order) in PARTS.items():
        for part in _read(snapshot, f"SELECT * FROM {table} WHERE memory_id {_IN_IDS} ORDER BY {order}", (ids,)):
            part.pop("id", None)
            units[part.pop("memory_id")][name].append(part)
    for name, table in LINKS.items():
        for link in _links(snapshot, table, ids):
            units[link.pop("own_id")][name].append(link)
    return [units[memory_id] for memory_id in memory_ids if memory_id in units]


def others(snapshot: Snapshot, first: int, last: int) -> list[Row]:
    """Return the sessions, maps, tags and areas of which the last change has a revision in (first, last].

    Tags are those that callers added.
    """
    units = [row for unit in _OTHERS for row in _units(snapshot, unit, "revision > ? AND revision <= ?", (first, last))]
    for row in units:
        if row["unit"] == "session":
            row["recalls"] = dict(snapshot.rows(_RECALLS, (row["external_id"],)))
        elif row["unit"] == "tag":
            del row["id"]
    return units


def origin_of(snapshot: Snapshot, origin: bytes | None, revision: int) -> tuple[str, int]:
    """Return the robot and the revision that the version of a unit is from."""
    if origin is None:
        return revisions.robot(snapshot), revision
    return origin[:16].hex(), int.from_bytes(origin[16:], "big")


def _units(
    snapshot: Snapshot, unit: str, condition: str, arguments: tuple[object, ...], columns: str = "*"
) -> list[Row]:
    units = []
    sql = f"SELECT {columns} FROM {_TABLES[unit]} WHERE {condition} ORDER BY rowid"
    for row in _read(snapshot, sql, arguments):
        uuid = row.pop("uuid").hex()
        robot, revision = origin_of(snapshot, row["origin"], row.pop("revision"))
        values = {name: value for name, value in row.items() if name not in _LOCAL}
        units.append({"unit": unit, "uuid": uuid, "robot": robot, "revision": revision, **values})
    return units


def _columns(snapshot: Snapshot, max_data: int) -> str:
    names = [name for (name,) in snapshot.rows("SELECT name FROM pragma_table_info('memories')")]
    data = f"iif(length(perception_data) <= {max_data}, perception_data, NULL) AS perception_data"
    return ", ".join(data if name == "perception_data" else name for name in names)


def _links(snapshot: Snapshot, table: str, ids: str) -> Iterable[Row]:
    # Both sides of a link have a row of their own, but neighbours share one.
    sides = [("memory_id", "other_id"), ("other_id", "memory_id")]
    for own_id, other_id in sides if table == "neighbours" else sides[:1]:
        for link in _read(
            snapshot,
            f"SELECT l.*, l.{own_id} AS own_id, lower(hex(o.uuid)) AS uuid FROM {table} AS l "
            f"JOIN memories AS o ON o.id = l.{other_id} WHERE l.{own_id} {_IN_IDS} ORDER BY l.{own_id}, l.{other_id}",
            (ids,),
        ):
            del link["memory_id"], link["other_id"]
            yield link


def _read(snapshot: Snapshot, sql: str, arguments: tuple[object, ...]) -> list[Row]:
    return [_as_json(row) for row in snapshot.mappings(sql, arguments)]


def _as_json(row: Row) -> Row:
    for name in JSON_COLUMNS & row.keys():
        row[name] = None if row[name] is None else json.loads(row[name])
    for name in BINARY_COLUMNS & row.keys():
        row[name] = None if row[name] is None else base64.b64encode(row[name]).decode()
    return row


def as_stored(name: str, value: Any) -> Any:
    """Return the value of a column of a checked unit as the database has it."""
    if value is None:
        return None
    if name in JSON_COLUMNS:
        return json.dumps(value, ensure_ascii=False)
    return base64.b64decode(value) if name in BINARY_COLUMNS else value


def changes_since(snapshot: Snapshot, cursor: Cursor, n: int, max_data: int | None = None) -> Batch | None:
    """Return the changes after the cursor of a follower, all of one epoch; None if nothing changed.

    There are at least `n`, if the epoch has as many. Memories to which a row refers come with it if the follower lacks
    them. Raw data of more than `max_data` bytes are left out.

    Raises:
        RewoundError: the file does not continue the history up to the cursor.
    """
    if not revisions.has_history(snapshot, cursor):
        raise RewoundError(cursor.epoch, cursor.revision)
    first = cursor.revision
    last = _last(snapshot, first, n)
    if last is None:
        return None
    sql = "SELECT id FROM memories WHERE revision > ? AND revision <= ? AND type <> 'note'"
    ids = sorted(_with_references(snapshot, {*snapshot.ids(sql, (first, last))}, last))
    units = memories(snapshot, ids, max_data) + others(snapshot, first, last)
    deletions = snapshot.rows(
        "SELECT lower(hex(uuid)) FROM deleted WHERE revision > ? AND revision <= ? ORDER BY revision, uuid",
        (first, last),
    )
    epoch, end = revisions.epoch_of(snapshot, last), revisions.latest(snapshot)
    return Batch(
        revisions.robot(snapshot), epoch, first, last, tuple(units), tuple(uuid for (uuid,) in deletions),
        lived_days.latest(snapshot), revisions.epoch_of(snapshot, end), end,
    )  # fmt: skip


def _last(snapshot: Snapshot, first: int, n: int) -> int | None:
    # The revision of the n-th change, or of the last one of the epoch.
    sources = [
        snapshot.rows(f"SELECT revision FROM {table} WHERE revision > ? ORDER BY revision LIMIT ?", (first, n))
        for table in ("memories", "sessions", "occupancy_grids", "tag_meta", "areas", "deleted")
    ]
    last = end = None
    for number, (revision,) in enumerate(merge(*sources), start=1):
        if last is None:
            end = revisions.end_of_epoch(snapshot, revision)
        elif end is not None and revision > end:
            break
        last = revision
        if number == n:
            break
    return last


def _with_references(snapshot: Snapshot, ids: set[int], last: int) -> set[int]:
    new = ids
    while new:
        references = snapshot.rows(_REFERENCES, (json.dumps(list(new)), last))
        new = {memory_id for (memory_id,) in references} - ids
        ids |= new
    return ids


def vectors_of(snapshot: Snapshot, uuids: Sequence[str]) -> dict[str, Sequence[Vector]]:
    """Return the vectors of memories, of each part one, by UUID; none of a text that the model does not read."""
    ids = {revisions.memory_of(snapshot, bytes.fromhex(uuid)): uuid for uuid in uuids}
    parts_by_memory = vector_rows.parts_of(snapshot, [memory_id for memory_id in ids if memory_id is not None])
    return {
        ids[memory_id]: [*codec.decode([code], codec.dimension(len(code) // parts))] if parts else ()
        for memory_id, parts, code in parts_by_memory
    }


_LATER = (
    "times_learned", "status", "status_reason", "superseded_at", "access_count", "return_count",
    "last_accessed", "recalled_at", "created_at", "updated_at",
)  # fmt: skip
"""Columns of a memory that change after it is stored."""
_SESSION = (
    "external_id", "collection", "context", "status", "client_type", "started_at", "ended_at", "end_reason",
    "outcome", "superseded", "expires_at",
)  # fmt: skip


_UNSTORABLE = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""Errors of SQLite for a value of another type than its column has."""


def apply(transaction: Transaction, batch: Batch) -> Applied:
    """Apply a batch in the transaction of the caller, who must roll it back on an error.

    Raises:
        InvalidFieldError: a deletion or a row of the batch is malformed.
    """
    deletions = sum(_delete(transaction, bytes.fromhex(uuid)) for uuid in check_deleted(batch.deleted))
    writer = _Writer(transaction)
    clean_rows = [_checked(index, row) for index, row in enumerate(batch.rows)]
    for step, step_rows in (
        (writer.choose, clean_rows), (writer.insert, (writer.newer,)), (writer.store, writer.newer),
        (writer.link, writer.newer),
    ):  # fmt: skip
        row: Any = None
        try:
            for row in step_rows:
                step(row)
        except (*_UNSTORABLE, *MALFORMED) as cause:
            reason = f"was not written by `robotmem export` ({type(cause).__name__}: {cause})"
            raise InvalidFieldError("row", row, reason) from cause
    if deletions:
        # The other file may have purged it.
        purge_rows.note_traces(transaction)
    memories = sum(row["unit"] == "memory" for row in writer.newer)
    return Applied(memories, deletions, writer.known_memories, writer.refused_memories)


def _checked(index: int, row: Mapping[str, Any]) -> Row:
    try:
        return check_unit(row)
    except InvalidFieldError as error:
        expected = f"{error.expected}; the row was not written by `robotmem export`"
        raise InvalidFieldError(f"rows[{index}].{error.field}", error.value, expected) from error


def _delete(transaction: Transaction, uuid: bytes) -> int:
    memory_id = revisions.memory_of(transaction, uuid)
    deletions = rows.delete(transaction, [memory_id]) if memory_id is not None else 0
    for table in ("sessions", "occupancy_grids", "tag_meta", "areas"):
        deletions += revisions.bury(transaction, table, "uuid = ?", (uuid,))
    transaction.execute(f"INSERT OR IGNORE INTO deleted VALUES (?, {revisions.NEXT}, NULL)", (uuid,))
    return deletions


class _Writer:
    """Stores units on one transaction, in four steps: choose all, insert what is new, store all, link all."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._ids: dict[str, int | None] = {}
        self._new: dict[str, NewMemory] = {}
        self.newer: list[Row] = []
        self.known_memories = 0
        self.refused_memories = 0

    def choose(self, row: Row) -> None:
        """Keep a row if it is newer than what the file has."""
        uuid = bytes.fromhex(row["uuid"])
        if self._transaction.row("SELECT 1 FROM deleted WHERE uuid = ?", (uuid,)):
            self.refused_memories += row["unit"] == "memory"
        elif self._is_newer(row, uuid):
            self.newer.append(row)
        else:
            self.known_memories += row["unit"] == "memory"

    def insert(self, newer: Sequence[Row]) -> None:
        """Insert the memories among these rows that the file does not have."""
        memories = [row for row in newer if row["unit"] == "memory" and self._id(row["uuid"]) is None]
        self._new = {row["uuid"]: _new_memory(row) for row in memories}
        self._ids |= zip(self._new, rows.insert_all(self._transaction, [*self._new.values()]), strict=True)

    def store(self, row: Row) -> None:
        """Store a row without its links."""
        stores = {
            "memory": self._store_memory,
            "session": self._store_session,
            "map": self._store_map,
            "tag": self._store_tag,
            "areas": self._store_areas,
        }
        stores[row["unit"]](row)

    def link(self, row: Row) -> None:
        """Link a memory with the memories that it names, as far as the file has them."""
        if row["unit"] == "session":
            self._link_session(row)
        elif row["unit"] == "memory":
            self._link_memory(row)

    def _is_newer(self, row: Row, uuid: bytes) -> bool:
        version = int(row["revision"]), str(row["robot"])
        key: object
        if row["unit"] == "memory":
            source, key = "memories WHERE id = ?", revisions.memory_of(self._transaction, uuid)
            changed_at = "iif(updated_at = '', created_at, updated_at)"
            row_time = row["updated_at"] or row["created_at"]
        elif row["unit"] == "session":
            source, key = "sessions WHERE external_id = ?", row["external_id"]
            changed_at, row_time = "coalesce(ended_at, started_at)", row["ended_at"] or row["started_at"]
        elif row["unit"] == "tag":
            # By its UUID, if it was renamed since.
            source = "tag_meta WHERE uuid IS NOT NULL AND ? IN (uuid, tag)"
            key = uuid if self._transaction.row("SELECT 1 FROM tag_meta WHERE uuid = ?", (uuid,)) else row["tag"]
            changed_at, row_time = "updated_at", row["updated_at"]
        elif row["unit"] == "areas":
            source, key = "areas WHERE map_id = ?", row["map_id"]
            changed_at, row_time = "updated_at", row["updated_at"]
        else:
            source, key = "occupancy_grids WHERE map_id = ?", row["map_id"]
            changed_at, row_time = "observed_at", row["observed_at"]
        file_row = self._transaction.row(f"SELECT origin, revision, {changed_at} FROM {source}", (key,))
        if file_row is None:
            return True
        robot, revision = origin_of(self._transaction, file_row[0], file_row[1])
        if robot == version[1]:
            return version[0] > revision
        if file_row[0] is None and is_of_another(str(row.get("collection", ""))):
            return True  # what changed here only follows from the sessions of this robot
        return (row_time, version[1]) > (file_row[2], robot)

    def _store_memory(self, row: Row) -> None:
        memory_id, is_new = self._id(row["uuid"]), row["uuid"] in self._new
        assert memory_id is not None
        values: dict[str, object] = {name: row[name] for name in _LATER}
        values |= {name: as_stored(name, row[name]) for name in ("tags", "decisions")}
        if is_new:
            values |= {"uuid": bytes.fromhex(row["uuid"]), "adopted": 1}
        else:
            new = _new_memory(row)
            values |= {name: getattr(new, name) for name in rows.COLUMNS}
            values |= {name: row[name] for name in (*Pose._fields, *rows.SIZE_COLUMNS)}
        self._update(memory_id, values)
        # Last: it sets times and a day of evidence that an ordinary update would compute.
        self._transaction.execute(
            f"UPDATE memories SET received_at = ?, evidence_day = {LATEST_DAY} - ?, "
            f"revision = {revisions.NEXT}, origin = ? WHERE id = ?",
            (int(row["received_at"]), int(row["evidence_age"]), _origin(row), memory_id),
        )
        self._store_parts(row, memory_id, is_new=is_new)

    def _store_parts(self, row: Row, memory_id: int, *, is_new: bool) -> None:
        parts = {part.table: row[name] for name, part in PARTS.items()}
        for table, part_rows in parts.items():
            if not is_new:
                self._transaction.execute(f"DELETE FROM {table} WHERE memory_id = ?", (memory_id,))
            if part_rows:
                self._add_parts(table, memory_id, part_rows)

    def _update(self, memory_id: int, values: Mapping[str, object]) -> None:
        # Write only values that differ, since indexes follow from some columns.
        names = [*values]
        old_values = self._transaction.row(f"SELECT {', '.join(names)} FROM memories WHERE id = ?", (memory_id,))
        new_values = {name: values[name] for name, old in zip(names, old_values, strict=True) if old != values[name]}
        if new_values:
            rows.write(self._transaction, memory_id, new_values)

    def _add_parts(self, table: str, memory_id: int, parts: Sequence[Row]) -> None:
        columns = [
            name
            for (name,) in self._transaction.rows("SELECT name FROM pragma_table_info(?)", (table,))
            if name not in ("id", "memory_id")
        ]
        self._transaction.executemany(
            f"INSERT INTO {table} (memory_id, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})",
            [(memory_id, *(as_stored(name, part[name]) for name in columns)) for part in parts],
        )

    def _link_memory(self, row: Row) -> None:
        transaction, memory_id = self._transaction, self._id(row["uuid"])
        assert memory_id is not None
        replacement, representative = (row[name] and self._id(row[name]) for name in ("replacement", "group"))
        transaction.execute(
            "UPDATE memories SET (superseded_by, represented_by) = (?1, ?2) "
            "WHERE id = ?3 AND (superseded_by, represented_by) IS NOT (?1, ?2)",
            (replacement, representative, memory_id),
        )
        if row["type"] == Kind.FACT.value:
            contradictions, similar = self._resolve_links(row["contradictions"]), self._resolve_links(row["similar"])
            fact_rows.unlink(transaction, [memory_id])
            fact_rows.link_contradictions(
                transaction, memory_id, [(other_id, link["reason"]) for other_id, link in contradictions]
            )
            fact_rows.link_similar(
                transaction,
                memory_id,
                [Similarity(other_id, link["method"], link["similarity"]) for other_id, link in similar],
            )
            return
        transaction.execute("DELETE FROM neighbours WHERE ? IN (memory_id, other_id)", (memory_id,))
        object_rows.count_neighbours(
            transaction,
            [
                (min(memory_id, other_id), max(memory_id, other_id), int(link["together"]), int(link["alone"]))
                for other_id, link in self._resolve_links(row["neighbours"])
            ],
        )

    def _resolve_links(self, links: Sequence[Row]) -> list[tuple[int, Row]]:
        links_by_id = [(self._id(link["uuid"]), link) for link in links]
        return [(other_id, link) for other_id, link in links_by_id if other_id is not None]

    def _id(self, uuid: str) -> int | None:
        # Links are made last, when all rows of the batch are stored.
        if uuid not in self._ids:
            self._ids[uuid] = revisions.memory_of(self._transaction, bytes.fromhex(uuid))
        return self._ids[uuid]

    def _store_session(self, row: Row) -> None:
        values = {name: as_stored(name, row[name]) for name in _SESSION}
        values["context"] = compact_json(row["context"])
        values |= {"uuid": bytes.fromhex(row["uuid"]), "origin": _origin(row)}
        names = ", ".join(values)
        marks, new_values = ", ".join("?" * len(values)), ", ".join(f"excluded.{name}" for name in values)
        self._transaction.execute(
            f"INSERT INTO sessions ({names}, revision) VALUES ({marks}, {revisions.NEXT}) "
            f"ON CONFLICT (external_id) DO UPDATE SET ({names}, revision) = ({new_values}, excluded.revision)",
            (*values.values(),),
        )

    def _link_session(self, row: Row) -> None:
        session_id = row["external_id"]
        self._transaction.execute("DELETE FROM session_recalls WHERE session_id = ?", (session_id,))
        for uuid, share in row["recalls"].items():
            memory_id = self._id(uuid)
            if memory_id is not None:
                sql = "INSERT INTO session_recalls VALUES (?, ?, ?)"
                self._transaction.execute(sql, (session_id, memory_id, float(share)))

    def _store_map(self, row: Row) -> None:
        grid = read_grid(row)
        map_rows.save(self._transaction, map_rows.pack(grid), str(row["collection"]))
        self._transaction.execute(
            "UPDATE occupancy_grids SET uuid = ?, origin = ? WHERE map_id = ?",
            (bytes.fromhex(row["uuid"]), _origin(row), grid.map_id),
        )

    def _store_areas(self, row: Row) -> None:
        areas = map_rows.MapAreas.read(row)
        map_rows.save_areas(self._transaction, areas)
        self._transaction.execute(
            "UPDATE areas SET updated_at = ?, uuid = ?, origin = ? WHERE map_id = ?",
            (str(row["updated_at"]), bytes.fromhex(row["uuid"]), _origin(row), areas.map_id),
        )

    def _store_tag(self, row: Row) -> None:
        uuid, tag, parent = bytes.fromhex(row["uuid"]), tag_key(row["tag"]), row["parent"] and tag_key(row["parent"])
        if parent is not None and tag in tag_rows.above(self._transaction, parent):
            parent = None  # two files turned a branch around
        self._transaction.execute("DELETE FROM tag_meta WHERE uuid = ? OR tag = ?", (uuid, tag))
        self._transaction.execute(
            "INSERT INTO tag_meta (tag, parent, display_name, updated_at, uuid, origin, revision) "
            f"VALUES (?, ?, ?, ?, ?, ?, {revisions.NEXT})",
            (tag, parent, str(row["display_name"]), str(row["updated_at"]), uuid, _origin(row)),
        )


def _new_memory(row: Row) -> NewMemory:
    values = {name: as_stored(name, row[name]) for name in rows.COLUMNS}
    values["context"] = compact_json(row["context"])
    if row["perception_metadata"] is not None:
        values["perception_metadata"] = compact_json(row["perception_metadata"])
    pose = None if row["x"] is None else Pose(*(row[axis] for axis in Pose._fields))
    size = None if row["size_x"] is None else Size(*(row[name] for name in rows.SIZE_COLUMNS))
    return NewMemory(**values, kind=Kind(row["type"]), pose=pose, size=size)


def _origin(row: Row) -> bytes:
    return bytes.fromhex(row["robot"]) + int(row["revision"]).to_bytes(8, "big")


_SUBSCRIBED = "subscribed "
"""Begins the names of settings; the name of a robot follows."""


def subscribed_place(snapshot: Snapshot, robot: str, scope: str) -> int:
    """Return up to where the file has what a robot made, of this scope; 0 for nothing."""
    row = snapshot.row("SELECT value FROM settings WHERE name = ?", (_SUBSCRIBED + robot,))
    known_scope, place = json.loads(row[0]) if row else ("", 0)
    return int(place) if known_scope == scope else 0


def store_subscribed(transaction: Transaction, robot: str, scope: str, batch: Batch, place_after: int) -> Applied:
    """Apply a batch of another robot, and note up to where the file has what the robot made.

    Raises:
        InvalidFieldError: a row is malformed.
    """
    applied = apply(transaction, batch)
    value = json.dumps([scope, place_after])
    transaction.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_SUBSCRIBED + robot, value))
    return applied


def stored_among(snapshot: Snapshot, uuids: Sequence[str]) -> list[str]:
    """Return those UUIDs of memories that the file has."""
    return [uuid for uuid in uuids if revisions.memory_of(snapshot, bytes.fromhex(uuid)) is not None]


def scope_of(*parts: Sequence[str]) -> str:
    """Return what is subscribed to, as a text to compare: by another scope all is read again."""
    return json.dumps(parts)
