"""Index the positions of memories, the positions in their contexts, and the boxes of objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..conditions.places import POSITION, context_field
from ..context_path import points, values_of
from .indexed_row import IndexedRow, Rows
from .snapshot import Transaction

_Space = tuple[str, str, str]
"""Field, frame and map."""
_Point = Sequence[float | None]
_HALF_BOX = 0.05
"""Metres from the position of an object to the sides of its box."""
_SPACE = "SELECT id FROM spaces WHERE (field, frame_id, map_id) = (?, ?, ?)"
_MOVE = f"UPDATE positions SET (x, y, z) = (?, ?, ?) WHERE memory_id = ? AND space_id = ({_SPACE}) RETURNING id"
_MOVE_BOX = """
    UPDATE objects_rtree SET (x0, x1, y0, y1, z0, z1) = (?2, ?3, ?4, ?5, ?6, ?7)
    WHERE id = ?1 AND (?8 NOT BETWEEN x0 AND x1 OR ?9 NOT BETWEEN y0 AND y1 OR ?10 NOT BETWEEN z0 AND z1)
"""
ENTRIES = """
    SELECT p.memory_id, s.field, s.frame_id, s.map_id, p.x, p.y, p.z, r.space0 - s.id, r.x0, r.x1, r.y0, r.y1
    FROM positions AS p JOIN spaces AS s ON s.id = p.space_id LEFT JOIN positions_rtree AS r ON r.id = p.id
    WHERE p.memory_id {ids}
"""
"""The positions of memories, see `indexing.Index`."""
BOXES = """
    SELECT r.id, s.frame_id, s.map_id, m.x BETWEEN x0 AND x1 AND m.y BETWEEN y0 AND y1 AND m.z BETWEEN z0 AND z1
    FROM objects_rtree AS r LEFT JOIN memories AS m ON m.id = r.id
    LEFT JOIN spaces AS s ON s.id BETWEEN r.space0 AND r.space1 WHERE r.id {ids}
"""
"""The boxes of objects; a box stays while its object is in it."""


def clear(transaction: Transaction) -> None:
    """Empty the index of positions."""
    transaction.execute("DELETE FROM positions_rtree")
    transaction.execute("DELETE FROM positions")


def clear_boxes(transaction: Transaction) -> None:
    """Delete the boxes of all objects."""
    transaction.execute("DELETE FROM objects_rtree")


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the positions of old rows in the index by those of new rows."""
    before, after = _positions(old), _positions(new)
    # Every sighting moves its object. To delete and insert a position would cost as much as the rest of a sighting.
    moving = {key for key in before.keys() & after.keys() if before[key].keys() == after[key].keys()}
    for memory_id in moving:
        for space, point in after[memory_id].items():
            if point != before[memory_id][space]:
                _move(transaction, memory_id, space, point)
    _delete(transaction, before.keys() - moving)
    if new_places := {memory_id: places for memory_id, places in after.items() if memory_id not in moving}:
        _insert(transaction, new_places)


def exchange_boxes(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the boxes of old objects by those of new objects; a box moves only if the object has left it."""
    before, after = ({row.id: row for row in rows if row.is_object} for rows in (old, new))
    moving = {key for key in before.keys() & after.keys() if _space(before[key]) == _space(after[key])}
    for row in (after[key] for key in moving):
        transaction.execute(_MOVE_BOX, (row.id, *_box(row), row.x, row.y, row.z))
    transaction.delete("objects_rtree", "id", before.keys() - moving)
    boxes = [
        (row.id, *_extent(_space_id(transaction, _space(row))), *_box(row))
        for row in after.values()
        if row.id not in moving
    ]
    transaction.insert("objects_rtree", f"({', '.join('?' * 9)})", boxes)


def _positions(rows: Rows) -> dict[int, dict[_Space, _Point]]:
    places = {row.id: {(field, row.frame_id, row.map_id): point for field, point in _fields(row)} for row in rows}
    return {memory_id: of_memory for memory_id, of_memory in places.items() if of_memory}


def _fields(row: IndexedRow) -> Iterator[tuple[str, _Point]]:
    if row.x is not None:
        yield POSITION, (row.x, row.y, row.z)
    for path, point in points(values_of(row.context)) if "[" in row.context else ():
        yield context_field(path), point if len(point) == 3 else (*point, None)


def _move(transaction: Transaction, memory_id: int, space: _Space, point: _Point) -> None:
    (key,) = transaction.execute(_MOVE, (*point, memory_id, *space)).fetchone()
    x, y, _ = point
    transaction.execute("UPDATE positions_rtree SET (x0, x1, y0, y1) = (?2, ?2, ?3, ?3) WHERE id = ?1", (key, x, y))


def _delete(transaction: Transaction, memory_ids: Collection[int]) -> None:
    keys = [key for (key,) in transaction.delete("positions", "memory_id", memory_ids, returning="RETURNING id")]
    transaction.delete("positions_rtree", "id", keys)


def _insert(transaction: Transaction, positions: Mapping[int, Mapping[_Space, _Point]]) -> None:
    spaces = {space: _space_id(transaction, space) for space in {space for of in positions.values() for space in of}}
    (last,) = transaction.row("SELECT coalesce(max(id), 0) FROM positions")
    places = [(memory_id, spaces[space], point) for memory_id, of in positions.items() for space, point in of.items()]
    rows = [(key, memory_id, space_id, *point) for key, (memory_id, space_id, point) in enumerate(places, last + 1)]
    transaction.insert("positions (id, memory_id, space_id, x, y, z)", "(?, ?, ?, ?, ?, ?)", rows)
    boxes = [(key, *_extent(space_id), x, x, y, y) for key, (_, space_id, (x, y, _)) in enumerate(places, last + 1)]
    transaction.insert("positions_rtree", "(?, ?, ?, ?, ?, ?, ?)", boxes)


def _space(row: IndexedRow) -> _Space:
    return POSITION, row.frame_id, row.map_id


def _space_id(transaction: Transaction, space: _Space) -> int:
    row = transaction.row(_SPACE, space)
    if row is None:
        transaction.execute("INSERT INTO spaces (field, frame_id, map_id) VALUES (?, ?, ?)", space)
        row = transaction.row(_SPACE, space)
    return int(row[0])


def _extent(space_id: int) -> tuple[float, float]:
    # A flat box would have no volume, see schema.sql.
    return space_id - 0.25, space_id + 0.25


def _box(row: IndexedRow) -> Iterator[float]:
    for at in (row.x, row.y, row.z):
        assert at is not None  # an object has a position
        yield from (at - _HALF_BOX, at + _HALF_BOX)
