"""The words of new memories, for FTS5 and for the counts by which it ranks."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence

from ...models import NewMemory
from .. import bulk
from ..functions import indexed_text

_TABLE = "memories_fts (rowid, content, human_summary, scope_files, scope_entities)"
_COUNT = """
    INSERT INTO words (word, memories) SELECT key, value FROM json_each(?) WHERE true
    ON CONFLICT (word) DO UPDATE SET memories = memories + excluded.memories
"""


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Adds the texts of memories to the text index."""
    rows = [(memory_id, *_texts(new)) for memory_id, new in added]
    frequencies: Counter[str] = Counter()
    total = 0
    for _, *texts in rows:
        words = " ".join(texts).split()
        total += len(words)
        frequencies.update(set(words))
    bulk.insert(connection, _TABLE, "(?, ?, ?, ?, ?)", rows)
    connection.execute(_COUNT, (json.dumps(frequencies, ensure_ascii=False),))
    connection.execute("UPDATE text_totals SET memories = memories + ?, words = words + ?", (len(rows), total))


def _texts(new: NewMemory) -> tuple[str, str, str, str]:
    return (
        indexed_text(new.content),
        indexed_text(new.human_summary),
        indexed_text(new.scope_files),
        indexed_text(f"{new.scope_entities} {new.label}"),
    )
