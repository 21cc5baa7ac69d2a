"""Read the texts of the text index, and which of them have changed; merge its segments."""

from __future__ import annotations

import sqlite3

from . import bulk

_TEXTS = """
    SELECT id, c0 || ' ' || c1 || ' ' || c2 || ' ' || c3 AS words FROM memories_fts_content
    WHERE id > ? AND id <= ? ORDER BY id LIMIT ?
"""
_MERGED = 16
"""Pages of 4 kB."""
_MERGING = 2
"""A merge with so many changes of rows did something; see "The 'merge' command" in SQLite's documentation of FTS5."""


def first_and_last(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the least and the greatest id of a stored memory; both 0 if there is none."""
    first, last = connection.execute("SELECT (SELECT min(id) FROM memories), (SELECT max(id) FROM memories)").fetchone()
    return first or 0, last or 0


def after(connection: sqlite3.Connection, memory_id: int, count: int) -> int | None:
    """Return the id up to which there are `count` memories above an id; None if there are fewer."""
    sql = "SELECT id FROM memories WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
    found = connection.execute(sql, (memory_id, count - 1)).fetchone()
    return int(found[0]) if found else None


def count(connection: sqlite3.Connection) -> int:
    """Return how many memories have a text, the withdrawn ones included."""
    return int(connection.execute("SELECT coalesce(sum(memories), 0) FROM collections").fetchone()[0])


def failure(connection: sqlite3.Connection) -> str:
    """Tell what a search of any word comes upon: why it fails, such as a damaged page; empty if it works."""
    try:
        connection.execute("SELECT 1 FROM memories_fts WHERE memories_fts MATCH 'a' LIMIT 1").fetchone()
    except sqlite3.Error as error:
        return f"text search failed: {error}"
    return ""


def words(connection: sqlite3.Connection, low: int, high: int, limit: int) -> tuple[list[int], list[str]]:
    """Return the first `limit` memories above the id `low` up to `high`: ascending ids, and words joined by spaces."""
    ids, texts = bulk.read(connection, _TEXTS, (low, high, limit), "id", "words")
    return ids, texts


def changes(connection: sqlite3.Connection) -> int:
    """Return the number of the last change of a text."""
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM text_changes").fetchone()[0])


def changed(connection: sqlite3.Connection, since: int, low: int, high: int) -> list[tuple[int, int]]:
    """Return the memories behind the id `low` up to `high` whose texts changed after `since`, with their numbers."""
    # By number: of what changed since there is little, of what ever changed there may be much.
    sql = "SELECT memory_id, number FROM text_changes WHERE number > ? AND +memory_id > ? AND +memory_id <= ?"
    return connection.execute(sql, (since, low, high)).fetchall()


def merge(connection: sqlite3.Connection, *, whole: bool = False) -> bool:
    """Merge a few pages of the segments of FTS5, all of them with `whole`; return whether there may be more to do."""
    before = connection.total_changes
    pages = -_MERGED if whole else _MERGED
    connection.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before >= _MERGING
