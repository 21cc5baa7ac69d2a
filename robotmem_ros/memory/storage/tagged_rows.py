"""Keep the memories with each tag as a table, for renaming a tag and for other programs."""

from __future__ import annotations

import json

from .indexed_row import Rows
from .snapshot import Transaction

ENTRIES = "SELECT memory_id, tag FROM memory_tags WHERE memory_id {ids}"
"""The tags of memories, see `indexing.Index`."""


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the tags of old rows in their index by those of new rows."""
    before, after = ({(tag, row.id) for row in rows for tag in json.loads(row.tags)} for rows in (old, new))
    transaction.executemany("DELETE FROM memory_tags WHERE tag = ? AND memory_id = ?", before - after)
    transaction.insert("memory_tags (tag, memory_id)", "(?, ?)", sorted(after - before))


def clear(transaction: Transaction) -> None:
    """Empty the index of tags."""
    transaction.execute("DELETE FROM memory_tags")
