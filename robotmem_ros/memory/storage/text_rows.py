"""Read the texts of the text index, and which of them have changed; keep their postings; merge its segments."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from . import bulk

_TEXT = "c.c0 || ' | ' || c.c1 || ' | ' || c.c2 || ' | ' || c.c3 AS text"
_TEXTS = f"SELECT c.id, {_TEXT} FROM memories_fts_content AS c WHERE c.id > ? AND c.id <= ? ORDER BY c.id LIMIT ?"
_TEXTS_OF = f"SELECT c.id, {_TEXT} FROM json_each(?) AS j CROSS JOIN memories_fts_content AS c ON c.id = j.value"
BARS = 3
"""How many bars stand between the texts of a memory. Indexed words have spaces between them, so a bar is no word."""
_IN_STEP = """
    {memories} = (SELECT count(*) FROM memories_fts_content WHERE id > {low} AND id <= {high}) AND NOT EXISTS (
        SELECT 1 FROM text_changes WHERE number > {changes} AND +memory_id > {low} AND +memory_id <= {high}
    )
"""
_KEEP = f"""
    INSERT INTO text_blocks (low, high, changes, memories, postings) SELECT ?1, ?2, ?3, ?4, ?5
    WHERE {_IN_STEP.format(low="?1", high="?2", changes="?3", memories="?4")}
    AND NOT EXISTS (SELECT 1 FROM text_blocks WHERE low < ?2 AND high > ?1)
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


def texts(connection: sqlite3.Connection, low: int, high: int, limit: int) -> tuple[list[int], list[str]]:
    """Return the first `limit` memories above the id `low` up to `high`: ascending ids, and indexed texts."""
    ids, found = bulk.read(connection, _TEXTS, (low, high, limit), "id", "text")
    return ids, found


def texts_of(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, str]:
    """Read the indexed texts of some memories, by memory, ascending; no phrase goes over the bar between two."""
    return dict(zip(*bulk.read(connection, _TEXTS_OF, (json.dumps(sorted(ids)),), "id", "text"), strict=True))


def changes(connection: sqlite3.Connection) -> int:
    """Return the number of the last change of a text."""
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM text_changes").fetchone()[0])


def changed(connection: sqlite3.Connection, since: int, low: int, high: int) -> list[tuple[int, int]]:
    """Return the memories behind the id `low` up to `high` whose texts changed after `since`, with their numbers."""
    # By number: of what changed since there is little, of what ever changed there may be much.
    sql = "SELECT memory_id, number FROM text_changes WHERE number > ? AND +memory_id > ? AND +memory_id <= ?"
    return connection.execute(sql, (since, low, high)).fetchall()


class KeptBlock(NamedTuple):
    """Postings as they are kept in the file, of the memories behind the id `low` up to `high`."""

    low: int
    high: int
    changes: int
    """The number of the last change of a text before they were read."""
    memories: int
    """How many there were."""


def kept_blocks(connection: sqlite3.Connection) -> list[KeptBlock]:
    """Return the kept blocks, ascending; no two overlap."""
    sql = "SELECT low, high, changes, memories FROM text_blocks ORDER BY low"
    return [*map(KeptBlock._make, connection.execute(sql))]


def postings(connection: sqlite3.Connection, block: KeptBlock) -> bytes:
    """Return the postings of a kept block; empty if it is gone."""
    found = connection.execute("SELECT postings FROM text_blocks WHERE (low, high, changes) = (?, ?, ?)", block[:3])
    return next((bytes(packed) for (packed,) in found if isinstance(packed, bytes)), b"")


def keep(connection: sqlite3.Connection, block: KeptBlock, packed: bytes) -> None:
    """Keep a block that is in step instead of those that it contains; not if another one overlaps it."""
    contained = "DELETE FROM text_blocks WHERE low >= ? AND high <= ? AND changes <= ?"
    connection.execute(contained, (block.low, block.high, block.changes))
    connection.execute(_KEEP, (*block, packed))


def drop_blocks(connection: sqlite3.Connection, *, only_outdated: bool = False) -> None:
    """Drop the kept blocks; or only those that hold traces of what was deleted or changed."""
    outdated = f"NOT ({_IN_STEP.format(low='low', high='high', changes='changes', memories='memories')})"
    connection.execute(f"DELETE FROM text_blocks WHERE {outdated if only_outdated else 'true'}")


def merge(connection: sqlite3.Connection, *, whole: bool = False) -> bool:
    """Merge a few pages of the segments of FTS5, all of them with `whole`; return whether there may be more to do."""
    before = connection.total_changes
    pages = -_MERGED if whole else _MERGED
    connection.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before >= _MERGING
