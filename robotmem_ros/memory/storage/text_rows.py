"""Offer the texts of memories to other programs, as an ordinary FTS5 table over `memories`: nothing here asks it.

Maintenance brings new texts in. Before a text that is in it changes or goes, its words are taken out.
"""

from __future__ import annotations

from collections.abc import Iterable

from .snapshot import Snapshot, Transaction, json_array

COLUMNS = ("content", "human_summary", "scope_files", "scope_entities", "label")
"""Columns of `memories` that are in the index."""
_NAMES = ", ".join(COLUMNS)
_PIECE = 4096
"""Texts that are indexed in one transaction, in some tenths of a second."""
_INDEXED = "(SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'indexed_texts')"
"""The last memory that the index knows, in SQL."""
_OF_KNOWN = f"FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND id <= {_INDEXED}"


def add(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Index the texts of memories that were changed; a new one waits for maintenance."""
    sql = f"INSERT INTO memories_fts (rowid, {_NAMES}) SELECT id, {_NAMES} {_OF_KNOWN}"
    transaction.execute(sql, (json_array(memory_ids),))


def remove(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Take the texts of memories out of the index, before they are changed or deleted."""
    sql = f"INSERT INTO memories_fts (memories_fts, rowid, {_NAMES}) SELECT 'delete', id, {_NAMES} {_OF_KNOWN}"
    transaction.execute(sql, (json_array(memory_ids),))


def is_behind(snapshot: Snapshot) -> bool:
    """Return whether a text is not in the index yet."""
    return bool(snapshot.row(f"SELECT EXISTS (SELECT 1 FROM memories WHERE id > {_INDEXED})")[0])


def catch_up(transaction: Transaction) -> None:
    """Index the next texts that the index lacks, some thousand at once."""
    ids = transaction.ids(f"SELECT id FROM memories WHERE id > {_INDEXED} ORDER BY id LIMIT {_PIECE}")
    if ids:
        transaction.execute("UPDATE settings SET value = ? WHERE name = 'indexed_texts'", (ids[-1],))
        add(transaction, ids)


def clear(transaction: Transaction) -> None:
    """Empty the index, whatever is in it; maintenance fills it again."""
    transaction.execute("INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')")
    transaction.execute("UPDATE settings SET value = 0 WHERE name = 'indexed_texts'")
