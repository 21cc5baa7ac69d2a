"""Put new memories into the indexes, many in one go: in a third of the time that triggers take row by row.

Each file has one index. Memories come with their ids, which are greater than all before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ...models import NewMemory
from . import counters, fact_words, json_values, positions, text, vectors


def index(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Put memories that were just inserted into all indexes."""
    texts = text.add(connection, added)
    parsed = json_values.add(connection, added)
    positions.add(connection, added, parsed)
    vectors.add(connection, added)
    fact_words.add(connection, added)
    counters.add(connection, added, texts)
