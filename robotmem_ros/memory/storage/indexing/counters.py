"""How many active memories there are, of each kind and of each collection."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence

from ...models import NewMemory

_IN_COLLECTION = """
    INSERT INTO collection_counters (collection, type, n) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET n = n + excluded.n
"""


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Count memories."""
    counts = Counter((new.collection, new.kind.value) for _, new in added)
    for (collection, kind), number in counts.items():
        connection.execute("UPDATE counters SET n = n + ? WHERE name = ?", (number, kind))
        connection.execute(_IN_COLLECTION, (collection, kind, number))
