"""The units of the feed as JSON: memories, sessions, maps, tags and areas, each with its dependent rows.

References to other units are UUIDs. Derived data are left out, and so are notes, which belong to their files.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..conditions.decay import LATEST_DAY
from . import revisions
from .snapshot import Snapshot

Row = dict[str, Any]
JSON_COLUMNS = frozenset({
    "context", "tags", "decisions", "perception_metadata", "before", "votes", "sources", "fact", "polygons",
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
    "text_key", "label_key", "content_hash", "evidence_day", "superseded_by", "origin", "adopted",
    "digest", "terms",
}  # fmt: skip
"""Columns of units that are derived, or mean something in this file alone."""
_TABLES = {"memory": "memories", "session": "sessions", "map": "occupancy_grids", "tag": "tag_meta", "areas": "areas"}
_OTHERS = {
    "session": "*, (SELECT score FROM session_outcomes WHERE session_id = external_id) AS outcome",
    "map": "*", "tag": "*", "areas": "*",
}  # fmt: skip
"""Columns of the units that are no memories."""
_RECALLS = """
    SELECT lower(hex(m.uuid)), r.share FROM session_recalls AS r JOIN memories AS m ON m.id = r.memory_id
    WHERE r.session_id = ? ORDER BY m.id
"""
_IN_IDS = "IN (SELECT value FROM json_each(?))"


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
            "(SELECT lower(hex(uuid)) FROM memories AS s WHERE s.id = memories.superseded_by) AS replacement",
        )
    }  # fmt: skip
    for row in units.values():
        row |= {"group": None, **{name: [] for name in (*PARTS, *LINKS)}}
    for name, (table, order) in PARTS.items():
        for part in _read(snapshot, f"SELECT * FROM {table} WHERE memory_id {_IN_IDS} ORDER BY {order}", (ids,)):
            part.pop("id", None)
            units[part.pop("memory_id")][name].append(part)
    for name, table in LINKS.items():
        for link in _links(snapshot, table, ids):
            units[link.pop("own_id")][name].append(link)
    for memory_id, uuid in snapshot.rows(
        "SELECT g.memory_id, lower(hex(r.uuid)) FROM group_members AS g "
        f"JOIN memories AS r ON r.id = g.representative_id WHERE g.memory_id {_IN_IDS}",
        (ids,),
    ):
        units[memory_id]["group"] = uuid
    return [units[memory_id] for memory_id in memory_ids if memory_id in units]


def others(snapshot: Snapshot, first: int, last: int) -> list[Row]:
    """Return the sessions, maps, tags and areas of which the last change has a revision in (first, last].

    Tags are those that callers added.
    """
    units = [
        row
        for unit, columns in _OTHERS.items()
        for row in _units(snapshot, unit, "revision > ? AND revision <= ?", (first, last), columns)
    ]
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
