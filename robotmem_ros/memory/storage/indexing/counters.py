"""How many memories there are of each kind and in each collection, and how many of them contain a word."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...models import Kind, NewMemory
from .text import Texts

_COLLECTIONS = """
    INSERT INTO collections (name, facts, perceptions, notes, memories, words) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (name) DO UPDATE SET (facts, perceptions, notes, memories, words) = (
        facts + ?2, perceptions + ?3, notes + ?4, memories + ?5, words + ?6
    ) RETURNING id
"""
_WORDS = """
    INSERT INTO words (collection_id, word, memories)
    SELECT ?, key, value FROM json_each(?) WHERE true
    ON CONFLICT DO UPDATE SET memories = memories + excluded.memories
"""


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]], texts: Iterable[Texts]) -> None:
    """Count memories and the words of each, which stand in their texts as these are indexed."""
    kinds = Counter((new.collection, new.kind) for _, new in added)
    sizes: Counter[str] = Counter()
    frequencies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    # Memories that say the same are counted together.
    alike = Counter(zip([new.collection for _, new in added], texts, strict=True))
    for (collection, indexed), number in alike.items():
        words = " ".join(indexed).split()
        sizes[collection] += number * len(words)
        frequencies[collection].update([*set(words)] * number)
    for collection, frequency in frequencies.items():
        of_each = [kinds[collection, kind] for kind in (Kind.FACT, Kind.PERCEPTION, Kind.NOTE)]
        row = (collection, *of_each, sum(of_each), sizes[collection])
        ((collection_id,),) = connection.execute(_COLLECTIONS, row).fetchall()
        connection.execute(_WORDS, (collection_id, json.dumps(frequency, ensure_ascii=False)))
    for kind, number in Counter(new.kind for _, new in added).items():
        connection.execute("UPDATE counters SET n = n + ? WHERE name = ?", (number, kind.value))
