"""Count the active memories of each collection and kind, so that no query counts a million rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from ..models import Kind
from . import text_rows
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
_STATISTICS = """
    SELECT coalesce(sum(memories), 0), coalesce(sum(words), 0), (
        SELECT json_group_object(word, n) FROM (
            SELECT word, sum(memories) AS n FROM words
            WHERE collection_id IN (SELECT id FROM collections WHERE {these})
            AND word IN (SELECT value FROM json_each(?1)) GROUP BY word
        )
    ) FROM collections WHERE {these}
"""
_OF_THESE = _STATISTICS.format(these="name IN (SELECT value FROM json_each(?2))")
_OF_ALL = _STATISTICS.format(these="true")


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


def frequencies(
    snapshot: Snapshot, words: Iterable[str], collections: Sequence[str]
) -> tuple[int, int, dict[str, int]]:
    """Count over some collections, or over all: memories, words, and the memories that hold each of some words."""
    words = {*words}
    arguments = (json.dumps([*words]), *((json.dumps(collections),) if collections else ()))
    memories, total, counts = snapshot.row(_OF_THESE if collections else _OF_ALL, arguments)
    frequencies = Counter[str](json.loads(counts))
    _, names, texts = text_rows.waiting(snapshot)
    for name, text in zip(names, texts, strict=True):
        if name in collections or not collections:
            text_words = text.split()
            total += len(text_words) - text_rows.BARS
            frequencies.update(words.intersection(text_words))
    return memories, total, frequencies
