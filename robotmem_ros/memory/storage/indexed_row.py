"""Read the columns of memories from which their indexes are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from .snapshot import Snapshot, json_array


class IndexedRow(NamedTuple):
    """The columns of a memory that an index depends on, and whether it is an object."""

    id: int
    type: str
    collection: str
    status: str
    content: str
    human_summary: str
    frame_id: str
    map_id: str
    x: float | None
    y: float | None
    z: float | None
    is_object: int


Rows = Collection[IndexedRow]
COLUMNS = frozenset(IndexedRow._fields) - {"id", "is_object"}
"""Columns of `memories` that an index depends on."""
_READ = f"""
    SELECT {", ".join(f"m.{name}" for name in IndexedRow._fields[:-1])},
    EXISTS (SELECT 1 FROM objects WHERE memory_id = m.id)
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
"""


def read(snapshot: Snapshot, memory_ids: Iterable[int]) -> dict[int, IndexedRow]:
    """Return the rows of memories by id; missing ids are skipped."""
    return {row[0]: IndexedRow(*row) for row in snapshot.rows(_READ, (json_array(memory_ids),))}


def with_columns(rows: Mapping[int, IndexedRow], columns: Mapping[str, Any]) -> dict[int, IndexedRow]:
    """Return rows with these columns replaced."""
    values = {name: value for name, value in columns.items() if name in COLUMNS}
    return {memory_id: row._replace(**values) for memory_id, row in rows.items()}
