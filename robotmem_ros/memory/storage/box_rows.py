"""Keep the boxes of objects, by which a sighting finds the objects near it."""

from __future__ import annotations

from collections.abc import Iterator

from .indexed_row import IndexedRow, Rows
from .snapshot import Transaction

_HALF_BOX = 0.05
"""Metres from the position of an object to the sides of its box."""
_SPACE = "SELECT id FROM spaces WHERE (frame_id, map_id) = (?, ?)"
_MOVE = """
    UPDATE objects_rtree SET (x0, x1, y0, y1, z0, z1) = (?2, ?3, ?4, ?5, ?6, ?7)
    WHERE id = ?1 AND (?8 NOT BETWEEN x0 AND x1 OR ?9 NOT BETWEEN y0 AND y1 OR ?10 NOT BETWEEN z0 AND z1)
"""
_UNUSED_SPACES = """
    DELETE FROM spaces WHERE (frame_id, map_id) NOT IN (
        SELECT m.frame_id, m.map_id FROM objects AS o JOIN memories AS m ON m.id = o.memory_id
    )
"""


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the boxes of old objects by those of new objects; a box moves only if the object has left it."""
    before, after = ({row.id: row for row in rows if row.is_object} for rows in (old, new))
    moving = {key for key in before.keys() & after.keys() if _space(before[key]) == _space(after[key])}
    for row in (after[key] for key in moving):
        transaction.execute(_MOVE, (row.id, *_box(row), row.x, row.y, row.z))
    transaction.delete("objects_rtree", "id", before.keys() - moving)
    boxes = [
        (row.id, *_extent(_space_id(transaction, _space(row))), *_box(row))
        for row in after.values()
        if row.id not in moving
    ]
    transaction.insert("objects_rtree", f"({', '.join('?' * 9)})", boxes)


def clear(transaction: Transaction) -> None:
    """Delete the boxes of all objects."""
    transaction.execute("DELETE FROM objects_rtree")


def delete_unused_spaces(transaction: Transaction) -> None:
    """Delete the names of frames and maps in which no object is any more."""
    transaction.execute(_UNUSED_SPACES)


def _space(row: IndexedRow) -> tuple[str, str]:
    return row.frame_id, row.map_id


def _space_id(transaction: Transaction, space: tuple[str, str]) -> int:
    row = transaction.row(_SPACE, space)
    if row is None:
        transaction.execute("INSERT INTO spaces (frame_id, map_id) VALUES (?, ?)", space)
        row = transaction.row(_SPACE, space)
    return int(row[0])


def _extent(space_id: int) -> tuple[float, float]:
    # A flat box would have no volume, see schema.sql.
    return space_id - 0.25, space_id + 0.25


def _box(row: IndexedRow) -> Iterator[float]:
    for at in (row.x, row.y, row.z):
        assert at is not None  # an object has a position
        yield from (at - _HALF_BOX, at + _HALF_BOX)
