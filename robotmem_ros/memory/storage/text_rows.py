"""Write and read the texts of the text index.

A text is stored with its memory. FTS5 gets it together with the next ones: the words of one text alone change five
pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import StorageError
from ..text.letters import has_han
from ..text.tokens import indexed_text
from .indexed_row import IndexedRow, Rows
from .snapshot import Snapshot, Transaction, json_array

_Texts = tuple[str, str, str, str]
"""Texts of a memory as they are indexed, in the order of the columns."""
_Entry = tuple[Any, ...]
"""The id and the texts of a memory."""
_COLUMNS = "content, human_summary, scope_files, scope_entities"
_READ_TEXTS = f"SELECT t.id, {_COLUMNS} FROM json_each(?) AS j CROSS JOIN memory_texts AS t ON t.id = j.value"
ENTRIES = f"SELECT id, {_COLUMNS} FROM memory_texts WHERE id {{ids}}"
"""The texts of memories, see `indexing.Index`."""
_WAITING = 64
"""Number of texts that are indexed together."""
_INDEXED = "(SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'indexed_texts')"
"""The last memory that FTS5 has, in SQL."""
_HAS_CHINESE = "SELECT 1 FROM memories_fts_words WHERE term >= '\u4e00' AND term < '\ua000' LIMIT 1"

_TEXT = "t.content || ' | ' || t.human_summary || ' | ' || t.scope_files || ' | ' || t.scope_entities AS text"
_TEXTS_OF = f"SELECT t.id, {_TEXT} FROM json_each(?) AS j CROSS JOIN memory_texts AS t ON t.id = j.value"
_BEHIND = f"FROM memory_texts AS t WHERE t.id > {_INDEXED} ORDER BY t.id"
BARS = 3
"""Number of bars between the texts of a memory. Indexed words have spaces between them, so a bar is no word."""


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the texts of old rows by those of new rows, in the index too if it has them."""
    outdated = {memory_id: (c0, c1, c2, c3) for memory_id, c0, c1, c2, c3 in _read_texts(transaction, old)}
    texts = {row.id: _texts(row) for row in new}
    transaction.delete("memory_texts", "id", outdated.keys())
    transaction.insert(f"memory_texts (id, {_COLUMNS})", "(?, ?, ?, ?, ?)", [(key, *texts[key]) for key in texts])
    last = indexed(transaction)
    before, after = (
        [(row.id, *of[row.id]) for row in rows if row.id <= last and row.id in of]
        for rows, of in ((old, outdated), (new, texts))
    )
    if before or after:
        _exchange_indexed(transaction, before, after)
    if max(texts, default=0) - last >= _WAITING:
        index_waiting(transaction)


def index_waiting(transaction: Transaction) -> None:
    """Index the texts that the index lacks."""
    waiting = transaction.rows(f"SELECT t.id, {_COLUMNS} {_BEHIND}")
    if waiting:
        _exchange_indexed(transaction, (), waiting)
        transaction.execute("UPDATE settings SET value = ? WHERE name = 'indexed_texts'", (waiting[-1][0],))


def indexed(snapshot: Snapshot) -> int:
    """Return the id of the last memory whose text is indexed."""
    return int(snapshot.row(f"SELECT {_INDEXED}")[0])


def waiting(snapshot: Snapshot) -> dict[int, str]:
    """Return the texts that are not indexed yet, by memory, ascending."""
    return dict(zip(*snapshot.columns(f"SELECT t.id, {_TEXT} {_BEHIND}", (), "id", "text"), strict=True))


def clear(transaction: Transaction) -> None:
    """Empty the text index, whatever is in it."""
    for sql in (
        "DELETE FROM memory_texts", "INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')",
        "UPDATE settings SET value = 0 WHERE name = 'indexed_texts'",
    ):  # fmt: skip
        transaction.execute(sql)


def _read_texts(snapshot: Snapshot, rows: Rows) -> list[tuple[int, str, str, str, str]]:
    return snapshot.rows(_READ_TEXTS, (json_array(row.id for row in rows),)) if rows else []


def _texts(row: IndexedRow) -> _Texts:
    return (
        indexed_text(row.content),
        indexed_text(row.human_summary),
        indexed_text(row.scope_files),
        indexed_text(f"{row.scope_entities} {row.label}"),
    )


def _exchange_indexed(transaction: Transaction, old: Sequence[_Entry], new: Sequence[_Entry]) -> None:
    delete, insert = f"memories_fts (memories_fts, rowid, {_COLUMNS})", f"memories_fts (rowid, {_COLUMNS})"
    transaction.insert(delete, "('delete', ?, ?, ?, ?, ?)", old)
    transaction.insert(insert, "(?, ?, ?, ?, ?)", new)


def count(snapshot: Snapshot) -> int:
    """Return how many memories have a text, the withdrawn ones included."""
    return int(snapshot.row("SELECT coalesce(sum(memories), 0) FROM collections")[0])


def has_chinese(snapshot: Snapshot) -> bool:
    """Return whether a text has a Chinese character of the common ones, as Japanese texts have."""
    return snapshot.row(_HAS_CHINESE) is not None or any(map(has_han, waiting(snapshot).values()))


def failure(snapshot: Snapshot) -> str:
    """Return why a search of any word fails, such as a damaged page; empty if it works."""
    try:
        snapshot.row("SELECT 1 FROM memories_fts WHERE memories_fts MATCH 'a' LIMIT 1")
    except StorageError as error:
        return f"text search failed: {error.cause}"
    return ""


def texts_of(snapshot: Snapshot, ids: Iterable[int]) -> dict[int, str]:
    """Read the indexed texts of some memories, by memory, ascending; bars between texts keep phrases apart."""
    return dict(zip(*snapshot.columns(_TEXTS_OF, (json.dumps(sorted(ids)),), "id", "text"), strict=True))
