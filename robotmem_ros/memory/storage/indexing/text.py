"""The text index: the words of memories, for FTS5."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ...models import NewMemory
from ...text import tokens
from .. import bulk

_TABLE = "memories_fts (rowid, content, human_summary, scope_files, scope_entities)"
Texts = tuple[str, str, str, str]
"""The texts of a memory as they are indexed, in the order of the columns."""
_MERGED = 16
"""Pages of 4 kB."""
_MERGING = 2
"""A merge with so many changes of rows did something; see "The 'merge' command" in SQLite's documentation of FTS5."""


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> list[Texts]:
    """Add the texts of memories, and return those of each as they are indexed, in the order of the memories."""
    texts = [_texts(new) for _, new in added]
    rows = [(memory_id, *indexed) for (memory_id, _), indexed in zip(added, texts, strict=True)]
    bulk.insert(connection, _TABLE, "(?, ?, ?, ?, ?)", rows)
    return texts


def defer_merging(connection: sqlite3.Connection) -> None:
    """Let the index grow by small segments until `resume_merging` in the same transaction.

    Once in a while a write merges many segments of FTS5 into one, which may take as much room as the whole index.
    """
    _configure(connection, automerge=0, crisismerge=1999)


def resume_merging(connection: sqlite3.Connection) -> None:
    """Write what changed as a segment, and let later transactions merge segments as FTS5 does by default."""
    connection.execute("SAVEPOINT segment")  # FTS5 writes at a savepoint what it gathered
    connection.execute("RELEASE segment")
    _configure(connection, automerge=4, crisismerge=16)


def merge(connection: sqlite3.Connection, *, whole: bool = False) -> bool:
    """Merge a few pages of the segments of FTS5, all of them with `whole`; return whether there may be more to do."""
    before = connection.total_changes
    pages = -_MERGED if whole else _MERGED
    connection.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before >= _MERGING


@lru_cache(maxsize=1024)  # a robot often sees the same, and triggers need the same texts several times
def indexed_text(text: str) -> str:
    """Return the words of a text as they are indexed, with a space between two."""
    return tokens.indexed_text(text)


def distinct_words(*indexed: str) -> str:
    """Return the different words of indexed texts as a JSON array."""
    return json.dumps(sorted({word for text in indexed for word in text.split()}), ensure_ascii=False)


def word_count(*indexed: str) -> int:
    """Return how many words indexed texts have together."""
    return sum(len(text.split()) for text in indexed)


def holds_words(wanted: str, *indexed: str) -> bool:
    """Return whether indexed texts hold all of some words or phrases, one on each line of `wanted`."""
    return holds_all(wanted.split("\n"), " | ".join(indexed))


def holds_all(wanted: Iterable[str], indexed: str) -> bool:
    """Return whether an indexed text holds all of some words or phrases."""
    indexed = f" {indexed} "
    return all(f" {one} " in indexed for one in wanted)


def _texts(new: NewMemory) -> Texts:
    return (
        indexed_text(new.content),
        indexed_text(new.human_summary),
        indexed_text(new.scope_files),
        indexed_text(f"{new.scope_entities} {new.label}"),
    )


def _configure(connection: sqlite3.Connection, **options: int) -> None:
    connection.executemany("INSERT INTO memories_fts (memories_fts, rank) VALUES (?, ?)", options.items())
