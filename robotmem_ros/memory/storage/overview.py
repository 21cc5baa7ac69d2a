"""Read the facts about a database that nearly every query needs, once in each snapshot.

No table of one of the two searches is read: a damaged page of it would fail queries that the other search can answer.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..models import Kind
from . import collection_rows
from .collection_rows import OF_OTHERS
from .snapshot import Snapshot

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
    counts = collection_rows.totals(snapshot)
    model, lived, others = snapshot.row(_READ)
    kinds = {kind.value: counts[kind.value] for kind in Kind}
    return Overview(kinds, counts["vector"], model, lived, tuple(json.loads(others)))
