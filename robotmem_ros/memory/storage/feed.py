"""Read the changes of a file after a revision as batches of units in JSON, for other files.

Units are memories, sessions, maps, tags and areas, each with its dependent rows. References to other units are UUIDs.
Derived data are left out, and so are notes, which belong to their files.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from heapq import merge
from typing import Any, NamedTuple

from ..batch import Batch, Cursor
from ..conditions.decay import LATEST_DAY
from ..errors import RewoundError
from ..models import Vector
from . import codec, lived_days, revisions, vector_rows
from .snapshot import Snapshot

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
LINKS = {"neighbours": "neighbours", "contradictions": "contradictions", "similar": "similar_facts"}
"""Tables of links between two memories, by the names of their lists."""
_LOCAL = {
    "content_hash", "evidence_day", "superseded_by", "represented_by", "origin", "adopted",
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
    rows = []
    sql = f"SELECT {columns} FROM {_TABLES[unit]} WHERE {condition} ORDER BY rowid"
    for row in _read(snapshot, sql, arguments):
        uuid = row.pop("uuid").hex()
        robot, revision = origin_of(snapshot, row["origin"], row.pop("revision"))
        values = {name: value for name, value in row.items() if name not in _LOCAL}
        rows.append({"unit": unit, "uuid": uuid, "robot": robot, "revision": revision, **values})
    return rows


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
    rows = memories(snapshot, ids, max_data) + others(snapshot, first, last)
    deletions = snapshot.rows(
        "SELECT lower(hex(uuid)) FROM deleted WHERE revision > ? AND revision <= ? ORDER BY revision, uuid",
        (first, last),
    )
    epoch, end = revisions.epoch_of(snapshot, last), revisions.latest(snapshot)
    return Batch(
        revisions.robot(snapshot), epoch, first, last, tuple(rows), tuple(uuid for (uuid,) in deletions),
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
    rows = vector_rows.parts_of(snapshot, [memory_id for memory_id in ids if memory_id is not None])
    return {
        ids[memory_id]: [*codec.decode([code], codec.dimension(len(code) // parts))] if parts else ()
        for memory_id, parts, code in rows
    }
