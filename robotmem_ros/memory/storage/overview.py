"""Count memories by collection and kind, and read what nearly every query needs, once in each snapshot.

No table of one of the two searches is read: a damaged page of it would fail queries that the other search can answer.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple

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


def exchange_counts(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Count rows as they are instead of rows as they were."""
    counts = Counter[tuple[str, str]]()
    for sign, rows in ((-1, old), (1, new)):
        for row in rows:
            counts[row.collection, ""] += sign
            counts[row.collection, row.type] += sign * (row.status == "active")
    names = {collection for (collection, _), number in counts.items() if number}
    columns = *(kind.value for kind in _KINDS), ""
    transaction.executemany(_ADD, [(name, *(counts[name, column] for column in columns)) for name in names])


def clear_counts(transaction: Transaction) -> None:
    """Set all counts of memories to 0."""
    transaction.execute("UPDATE collections SET (facts, perceptions, notes, memories) = (0, 0, 0, 0)")


def count_memories(snapshot: Snapshot) -> int:
    """Return how many memories there are, withdrawn ones included."""
    return int(snapshot.row("SELECT total(memories) FROM collections")[0])


def totals(snapshot: Snapshot) -> dict[str, int]:
    """Return the numbers of active memories by kind, of all as `memory`, and of those with a vector as `vector`."""
    *numbers, vectors = snapshot.row(_TOTALS)
    kinds = {kind.value: int(number) for kind, number in zip(_KINDS, numbers, strict=True)}
    return kinds | {"vector": int(vectors), "memory": sum(kinds.values())}


_IS_OTHER = OF_OTHERS.format(column="name")
_READ = f"""
    SELECT (SELECT value FROM settings WHERE name = 'embedding_model'),
    (SELECT coalesce(max(n), 0) FROM lived_days),
    (SELECT json_group_array(name) FROM collections WHERE {_IS_OTHER})
"""


class Overview(NamedTuple):
    """The contents of a database in numbers."""

    counts: dict[str, int]
    """Numbers of active memories by kind."""
    vectors: int
    """Number of active memories with a vector."""
    model: str | None
    """The model whose vectors these are; None where none ever had one."""
    lived_days: int
    """Number of days that the memory has lived."""
    others: tuple[str, ...]
    """Collections of other robots."""

    @property
    def memories(self) -> int:
        """Return how many active memories there are."""
        return sum(self.counts.values())


def overview(snapshot: Snapshot) -> Overview:
    """Return the overview of a snapshot, which is read once."""
    return snapshot.read_once(_read)


def _read(snapshot: Snapshot) -> Overview:
    counts = totals(snapshot)
    model, lived, others = snapshot.row(_READ)
    kinds = {kind.value: counts[kind.value] for kind in Kind}
    return Overview(kinds, counts["vector"], model, lived, tuple(json.loads(others)))
