"""Find memories of the same text, at one place or anywhere: what folding takes for one, see `search/folding.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..conditions.places import Space, overlapping
from ..conditions.sql import Sql
from ..text.normal_form import digest
from .snapshot import Snapshot, json_array

_CROWD = 8
"""From this many memories of one text on, those at the same place are found by the place."""
_NO_OBJECT = "NOT EXISTS (SELECT 1 FROM objects WHERE memory_id = m.id)"
_PLACES = """positions AS q CROSS JOIN spaces AS s ON s.id = q.space_id
    AND (s.field = 'position' OR s.field GLOB 'spatial.*' OR s.field = ?)"""
"""Positions that tell where a memory is: its pose, those under `spatial`, and those that are sorted by."""
_REACH = "(?3 + 1e-9 * (1.0 + ?3 + abs(own.x) + abs(own.y)))"
"""Greatest distance of another memory, with a margin for rounding: the exact test follows."""
_AREA = "json_extract(m.context, '$.spatial.area')"
_SHARES_TEXT = "(SELECT count(*) FROM (SELECT 1 FROM memories WHERE text_key = m.text_key LIMIT 2)) > 1"
_WITH_TWINS = f"""
    SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {_SHARES_TEXT}
"""
"""Memories that are not alone with their text."""
_WITH_TWINS_NEARBY = f"""
    SELECT m.id FROM json_each(?1) AS j CROSS JOIN memories AS m ON m.id = j.value
    LEFT JOIN positions AS own ON own.id = (SELECT min(q.id) FROM {_PLACES} WHERE q.memory_id = m.id)
    WHERE {_NO_OBJECT} AND {_SHARES_TEXT}
    AND CASE (SELECT count(*) FROM (SELECT 1 FROM memories WHERE text_key = m.text_key LIMIT {_CROWD}))
        WHEN {_CROWD} THEN own.id IS NULL OR EXISTS (
            SELECT 1 FROM positions_rtree AS b CROSS JOIN positions AS p ON p.id = b.id
            CROSS JOIN memories AS other ON other.id = p.memory_id
            WHERE b.space0 >= own.space_id - 0.5 AND b.space1 <= own.space_id + 0.5
            AND b.x1 >= own.x - {_REACH} AND b.x0 <= own.x + {_REACH}
            AND b.y1 >= own.y - {_REACH} AND b.y0 <= own.y + {_REACH}
            AND other.text_key = m.text_key AND other.id <> m.id)
        ELSE own.id IS NULL OR EXISTS (
            SELECT 1 FROM memories AS other INDEXED BY idx_mem_text_key
            CROSS JOIN positions AS p ON p.memory_id = other.id AND p.space_id = own.space_id
            WHERE other.text_key = m.text_key AND other.id <> m.id
            AND abs(p.x - own.x) <= {_REACH} AND abs(p.y - own.y) <= {_REACH})
        END
"""
"""Memories near another one of the same text, and those without a position that are not alone with their text."""
_ROW = f"""
    SELECT type, collection, label, label_key, perception_type, text_key, content, context, frame_id, map_id, {_AREA}
    FROM memories AS m WHERE id = ?
"""


def with_twins(snapshot: Snapshot, ids: Iterable[int], compared: str, radius: float) -> set[int]:
    """Return those of some memories that may have another of the same text, and place if it is compared, see `alike`.

    `radius` is in metres.
    """
    if not compared:
        return {*snapshot.ids(_WITH_TWINS, (json_array(ids),))}
    return {*snapshot.ids(_WITH_TWINS_NEARBY, (json_array(ids), compared, radius))}


def alike(snapshot: Snapshot, memory_id: int, radius: Callable[[str], float], compared: str, also: Sql) -> list[int]:
    """Return the memories of the same text that meet a condition, newest first, itself among them.

    `compared` is the field that places are compared by, beside those of a pose; empty if places do not count. `radius`
    gives metres for a label.
    """
    kind, collection, label, label_key, sense, key, content, context, *place = snapshot.row(_ROW, (memory_id,))
    frame_id, map_id, area = place
    sql = "m.type = ? AND m.collection = ? AND m.label_key = ? AND m.perception_type IS ?"
    arguments: tuple[object, ...] = (kind, collection, label_key, sense)
    if kind == "fact":
        sql += " AND m.context = ? AND m.frame_id = ? AND m.map_id = ?"
        arguments += (context, frame_id, map_id)
    source: tuple[str, tuple[object, ...]] = ("memories AS m INDEXED BY idx_mem_text_key", ())
    positions: Sequence[tuple[int, float, float, float | None]] = ()
    if compared:
        sql += f" AND {_NO_OBJECT}"
        positions = snapshot.rows(
            f"SELECT q.space_id, q.x, q.y, q.z FROM {_PLACES} WHERE q.memory_id = ? ORDER BY q.id",
            (compared, memory_id),
        )
    if positions:
        metres = radius(label)
        if _are_many(snapshot, key):
            source = _around(positions[0], metres)
        near, values = _near(positions, metres, compared)
        sql, arguments = f"{sql} AND {near}", (*arguments, *values)
    elif compared:
        sql += f" AND NOT EXISTS (SELECT 1 FROM {_PLACES} WHERE q.memory_id = m.id) AND {_AREA} IS ?"
        arguments += (compared, area)
    return snapshot.ids(
        f"SELECT m.id FROM {source[0]} WHERE m.text_key = ? AND {sql} AND {also.sql} "
        "AND (m.content = ? OR content_digest(m.content) = ?) ORDER BY m.observed_at DESC, m.id DESC",
        (*source[1], key, *arguments, *also.arguments, content, digest(content)),
    )


def _are_many(snapshot: Snapshot, key: int) -> bool:
    sql = "SELECT count(*) FROM (SELECT 1 FROM memories WHERE text_key = ? LIMIT ?)"
    return int(snapshot.row(sql, (key, _CROWD))[0]) == _CROWD


def _around(position: tuple[int, float, float, float | None], metres: float) -> tuple[str, tuple[object, ...]]:
    space_id, x, y, _ = position
    box = overlapping(Space(space_id, ()), (x - metres, x + metres, y - metres, y + metres))
    source = f"SELECT DISTINCT p.memory_id AS id FROM ({box.sql}) AS b CROSS JOIN positions AS p ON p.id = b.id"
    return f"({source}) AS s CROSS JOIN memories AS m ON m.id = s.id", box.arguments


def _near(
    positions: Sequence[tuple[int, float, float, float | None]], metres: float, compared: str
) -> tuple[str, tuple[object, ...]]:
    # Each position of the one has its counterpart, and the other has no more.
    test = (
        "q.space_id = ? AND (q.x - ?) * (q.x - ?) + (q.y - ?) * (q.y - ?) + coalesce((q.z - ?) * (q.z - ?), 0.0) <= ?"
    )
    tests = " OR ".join([f"({test})"] * len(positions))
    sql = f"(SELECT count(*) = ? AND coalesce(sum({tests}), 0) = ? FROM {_PLACES} WHERE q.memory_id = m.id)"
    values = [value for space, x, y, z in positions for value in (space, x, x, y, y, z, z, metres * metres)]
    return sql, (len(positions), *values, len(positions), compared)
