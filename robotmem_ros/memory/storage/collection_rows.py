"""Count the active memories of each collection and kind, so that nobody counts a million rows."""

from __future__ import annotations

from collections import Counter

from ..models import Kind
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction

_ADD = """
    UPDATE collections SET (facts, perceptions, notes) = (facts + ?2, perceptions + ?3, notes + ?4) WHERE name = ?1
"""
_TOTALS = "SELECT total(facts), total(perceptions), total(notes), total(vectors) FROM collections"
_KINDS = (Kind.FACT, Kind.PERCEPTION, Kind.NOTE)


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Count rows as they are instead of rows as they were."""
    counts = Counter((row.collection, row.type) for row in new if row.status == "active")
    counts.subtract((row.collection, row.type) for row in old if row.status == "active")
    names = {collection for (collection, _), number in counts.items() if number}
    transaction.executemany(_ADD, [(name, *(counts[name, kind.value] for kind in _KINDS)) for name in names])


def totals(snapshot: Snapshot) -> dict[str, int]:
    """Return how many active memories there are of each kind, and of all as `memory`; `vector` for those with one."""
    *numbers, vectors = snapshot.row(_TOTALS)
    kinds = {kind.value: int(number) for kind, number in zip(_KINDS, numbers, strict=True)}
    return kinds | {"vector": int(vectors), "memory": sum(kinds.values())}


def size(snapshot: Snapshot, collection: str) -> int:
    """Return how many active memories a collection has."""
    sql = "SELECT facts + perceptions + notes FROM collections WHERE name = ?"
    row = snapshot.row(sql, (collection,))
    return int(row[0]) if row else 0
