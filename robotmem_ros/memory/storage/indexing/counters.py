"""How many memories there are of each kind and in each collection, and how many of them contain a word."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...models import Kind, NewMemory

_COLLECTIONS = """
    INSERT INTO collections (name, facts, perceptions, memories, words)
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
        json_extract(value, '$[3]'), json_extract(value, '$[4]')
    FROM json_each(?) WHERE true
    ON CONFLICT (name) DO UPDATE SET (facts, perceptions, memories, words) = (
        facts + excluded.facts, perceptions + excluded.perceptions, memories + excluded.memories,
        words + excluded.words
    ) RETURNING name, id
"""
_WORDS = """
    INSERT INTO words (collection_id, word, memories)
    SELECT ids.key, counts.key, counts.value FROM json_each(?) AS ids CROSS JOIN json_each(ids.value) AS counts
    WHERE true ON CONFLICT DO UPDATE SET memories = memories + excluded.memories
"""


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]], words: Iterable[Sequence[str]]) -> None:
    """Count memories and the words of each."""
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    frequencies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (_, new), held in zip(added, words, strict=True):
        is_fact = new.kind is Kind.FACT
        numbers = (is_fact, not is_fact, 1, len(held))
        totals[new.collection] = [total + number for total, number in zip(totals[new.collection], numbers, strict=True)]
        frequencies[new.collection].update(set(held))
    rows = [(name, *numbers) for name, numbers in totals.items()]
    ids = dict(connection.execute(_COLLECTIONS, (json.dumps(rows, ensure_ascii=False),)).fetchall())
    by_id = {ids[name]: counter for name, counter in frequencies.items()}
    connection.execute(_WORDS, (json.dumps(by_id, ensure_ascii=False),))
    for place, kind in enumerate((Kind.FACT, Kind.PERCEPTION)):
        if number := sum(numbers[place] for numbers in totals.values()):
            connection.execute("UPDATE counters SET n = n + ? WHERE name = ?", (number, kind.value))
