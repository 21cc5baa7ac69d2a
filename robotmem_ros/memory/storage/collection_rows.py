"""Count the active memories of each collection and kind, so that no query counts a million rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from ..models import Kind
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction

OF_OTHERS = "{column} >= '@' AND {column} < 'A'"
"""Whether a column names a collection of another robot."""
_ADD = """
    INSERT INTO collections (name, facts, perceptions, notes, memories) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (name) DO UPDATE SET (facts, perceptions, notes, memories)
    = (facts + ?2, perceptions + ?3, notes + ?4, memories + ?5)
"""
_TOTALS = "SELECT total(facts), total(perceptions), total(notes), total(vectors) FROM collections"
_KINDS = (Kind.FACT, Kind.PERCEPTION, Kind.NOTE)
_SIZES = """
    SELECT name, facts + perceptions + notes, notes FROM collections WHERE name IN (SELECT value FROM json_each(?))
"""


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Count rows as they are instead of rows as they were."""
    counts = Counter[tuple[str, str]]()
    for sign, rows in ((-1, old), (1, new)):
        for row in rows:
            counts[row.collection, ""] += sign
            counts[row.collection, row.type] += sign * (row.status == "active")
    names = {collection for (collection, _), number in counts.items() if number}
    columns = *(kind.value for kind in _KINDS), ""
    transaction.executemany(_ADD, [(name, *(counts[name, column] for column in columns)) for name in names])


def clear(transaction: Transaction) -> None:
    """Set all counts of memories to 0."""
    transaction.execute("UPDATE collections SET (facts, perceptions, notes, memories) = (0, 0, 0, 0)")


def count(snapshot: Snapshot) -> int:
    """Return how many memories there are, withdrawn ones included."""
    return int(snapshot.row("SELECT total(memories) FROM collections")[0])


def totals(snapshot: Snapshot) -> dict[str, int]:
    """Return the numbers of active memories by kind, of all as `memory`, and of those with a vector as `vector`."""
    *numbers, vectors = snapshot.row(_TOTALS)
    kinds = {kind.value: int(number) for kind, number in zip(_KINDS, numbers, strict=True)}
    return kinds | {"vector": int(vectors), "memory": sum(kinds.values())}


def sizes(snapshot: Snapshot, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return how many active memories some collections have, and how many of them are notes; it is read once."""
    key = json.dumps([*names])
    return snapshot.read_once(
        lambda snapshot: {name: (size, notes) for name, size, notes in snapshot.rows(_SIZES, (key,))}, ("sizes", key)
    )
