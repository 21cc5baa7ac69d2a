"""Write and read the texts of the text index and their changes; keep postings.

A text is stored with its memory. FTS5 gets it, and its words are counted, together with the next ones: the words of one
text alone change five pages. Who searches reads the few texts that are behind.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.sql import Sql
from ..errors import StorageError
from ..text import tokens
from ..text.letters import has_han
from ..text.tokens import indexed_text
from . import revisions
from .indexed_row import IndexedRow, Rows
from .snapshot import Snapshot, Transaction, json_array

_Texts = tuple[str, str, str, str]
"""Texts of a memory as they are indexed, in the order of the columns."""
_Entry = tuple[Any, ...]
"""The collection, the id and the texts of a memory."""
_COLUMNS = "content, human_summary, scope_files, scope_entities"
_READ_TEXTS = f"SELECT t.id, {_COLUMNS} FROM json_each(?) AS j CROSS JOIN memory_texts AS t ON t.id = j.value"
ENTRIES = f"SELECT id, {_COLUMNS} FROM memory_texts WHERE id {{ids}}"
"""The texts of memories, see `indexing.Index`."""
_WAITING = 64
"""Number of texts that are indexed together; fewer are read by a search in a tenth of a millisecond."""
_INDEXED = "(SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'indexed_texts')"
"""The last memory that FTS5 has, in SQL."""
_SIZES = "UPDATE collections SET words = words + ?2 WHERE name = ?1"
# One statement for all collections: SQLite copies the pages that a statement of many rows changes, and with each of
# them goes through all copies of the transaction.
_WORDS = """
    INSERT INTO words (collection_id, word, memories)
    SELECT c.id, w.key, w.value FROM json_each(?) AS j
    CROSS JOIN collections AS c ON c.name = j.key CROSS JOIN json_each(j.value) AS w WHERE true
    ON CONFLICT DO UPDATE SET memories = memories + excluded.memories
"""
_HAS_CHINESE = """
    SELECT 1 FROM collections AS c CROSS JOIN words AS w
    WHERE w.collection_id = c.id AND w.word >= '\u4e00' AND w.word < '\ua000' LIMIT 1
"""
_UNUSED_WORDS = """
    DELETE FROM words WHERE collection_id = (SELECT id FROM collections WHERE name = ?)
    AND word IN (SELECT value FROM json_each(?)) AND memories = 0
"""
_NOTE_CHANGE = f"UPDATE memories SET text_revision = {revisions.NEXT} WHERE id IN (SELECT value FROM json_each(?))"
_CHANGED_TEXTS = """
    SELECT id, text_revision FROM memories INDEXED BY idx_mem_text_revision
    WHERE text_revision > 0 AND text_revision > ?
"""

_TEXT = "t.content || ' | ' || t.human_summary || ' | ' || t.scope_files || ' | ' || t.scope_entities AS text"
_TEXTS = f"""
    SELECT t.id, {_TEXT}, CASE WHEN m.type = 'perception' THEN json_array(m.collection, m.perception_type, m.label_key)
    ELSE m.id END AS kind FROM memory_texts AS t CROSS JOIN memories AS m ON m.id = t.id
    WHERE t.id > ? AND t.id <= ? ORDER BY t.id LIMIT ?
"""
_TEXTS_OF = f"SELECT t.id, {_TEXT} FROM json_each(?) AS j CROSS JOIN memory_texts AS t ON t.id = j.value"
_BEHIND = f"FROM memory_texts AS t CROSS JOIN memories AS m ON m.id = t.id WHERE t.id > {_INDEXED}"
BARS = 3
"""Number of bars between the texts of a memory. Indexed words have spaces between them, so a bar is no word."""
_IN_STEP = """
    {memories} = (SELECT count(*) FROM memory_texts WHERE id > {low} AND id <= {high}) AND NOT EXISTS (
        SELECT 1 FROM memories INDEXED BY idx_mem_text_revision
        WHERE text_revision > 0 AND text_revision > {revision} AND +id > {low} AND +id <= {high}
    )
"""
_KEEP = f"""
    INSERT INTO text_blocks (low, high, revision, memories, postings) SELECT ?1, ?2, ?3, ?4, ?5
    WHERE {_IN_STEP.format(low="?1", high="?2", revision="?3", memories="?4")}
    AND NOT EXISTS (SELECT 1 FROM text_blocks WHERE low < ?2 AND high > ?1)
"""


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Replace the texts of old rows by those of new rows, in the index too if it has them."""
    outdated = {memory_id: (c0, c1, c2, c3) for memory_id, c0, c1, c2, c3 in _read_texts(transaction, old)}
    texts = {row.id: _texts(row) for row in new}
    transaction.delete("memory_texts", "id", outdated.keys())
    transaction.insert(f"memory_texts (id, {_COLUMNS})", "(?, ?, ?, ?, ?)", [(key, *texts[key]) for key in texts])
    last = indexed(transaction)
    before, after = (
        [(row.collection, row.id, *of[row.id]) for row in rows if row.id <= last and row.id in of]
        for rows, of in ((old, outdated), (new, texts))
    )
    if before or after:
        _exchange_indexed(transaction, before, after)
    if max(texts, default=0) - last >= _WAITING:
        index_waiting(transaction)
    if changed_ids := texts.keys() & outdated.keys():
        transaction.execute(_NOTE_CHANGE, (json_array(changed_ids),))


def index_waiting(transaction: Transaction) -> None:
    """Index the texts that the index lacks, and count their words."""
    waiting = transaction.rows(f"SELECT m.collection, t.id, t.{_COLUMNS.replace(', ', ', t.')} {_BEHIND} ORDER BY t.id")
    if waiting:
        _exchange_indexed(transaction, (), waiting)
        transaction.execute("UPDATE settings SET value = ? WHERE name = 'indexed_texts'", (waiting[-1][1],))


def indexed(snapshot: Snapshot) -> int:
    """Return the id of the last memory whose text is indexed."""
    return int(snapshot.row(f"SELECT {_INDEXED}")[0])


def waiting(snapshot: Snapshot) -> list[list[Any]]:
    """Return the memories whose texts are not indexed yet, by id, their collections and texts; they are read once."""
    return snapshot.read_once(_read_waiting)


def clear(transaction: Transaction) -> None:
    """Empty the text index, whatever is in it."""
    for sql in (
        "DELETE FROM memory_texts", "INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')",
        "DELETE FROM words", "DELETE FROM text_blocks", "UPDATE collections SET words = 0",
        "UPDATE settings SET value = 0 WHERE name = 'indexed_texts'",
    ):  # fmt: skip
        transaction.execute(sql)


def note_changes(transaction: Transaction) -> None:
    """Note that the texts of all memories may have changed, for what follows them."""
    transaction.execute(f"UPDATE memories SET text_revision = {revisions.NEXT}")


def _read_texts(snapshot: Snapshot, rows: Rows) -> list[tuple[int, str, str, str, str]]:
    return snapshot.rows(_READ_TEXTS, (json_array(row.id for row in rows),)) if rows else []


def _texts(row: IndexedRow) -> _Texts:
    return (
        indexed_text(row.content),
        indexed_text(row.human_summary),
        indexed_text(row.scope_files),
        indexed_text(f"{row.scope_entities} {row.label}"),
    )


def _read_waiting(snapshot: Snapshot) -> list[list[Any]]:
    sql = f"SELECT t.id, m.collection, {_TEXT} {_BEHIND} ORDER BY t.id"
    return snapshot.columns(sql, (), "id", "collection", "text")


def _exchange_indexed(transaction: Transaction, old: Sequence[_Entry], new: Sequence[_Entry]) -> None:
    delete, insert = f"memories_fts (memories_fts, rowid, {_COLUMNS})", f"memories_fts (rowid, {_COLUMNS})"
    transaction.insert(delete, "('delete', ?, ?, ?, ?, ?)", [columns for _, *columns in old])
    transaction.insert(insert, "(?, ?, ?, ?, ?)", [columns for _, *columns in new])
    sizes, frequencies = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for sign, entries in ((-1, old), (1, new)):
        # Memories of one collection with the same texts are counted together.
        for (collection, *columns), number in Counter((name, *texts) for name, _, *texts in entries).items():
            words = " ".join(columns).split()
            sizes[collection] += sign * number * len(words)
            for word in {*words}:
                frequencies[collection][word] += sign * number
    transaction.executemany(_SIZES, sizes.items())
    changes = {name: {word: n for word, n in counts.items() if n} for name, counts in frequencies.items()}
    if any(changes.values()):
        transaction.execute(_WORDS, (json.dumps(changes, ensure_ascii=False),))
    fewer = {name: [word for word, n in counts.items() if n < 0] for name, counts in changes.items()}
    transaction.executemany(
        _UNUSED_WORDS, [(name, json.dumps(words, ensure_ascii=False)) for name, words in fewer.items() if words]
    )


def first_and_last(snapshot: Snapshot) -> tuple[int, int]:
    """Return the least and the greatest id of a stored memory; both 0 if there is none."""
    first, last = snapshot.row("SELECT (SELECT min(id) FROM memories), (SELECT max(id) FROM memories)")
    return first or 0, last or 0


def after(snapshot: Snapshot, memory_id: int, count: int) -> int | None:
    """Return the id up to which there are `count` memories above an id; None if there are fewer."""
    sql = "SELECT id FROM memories WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
    row = snapshot.row(sql, (memory_id, count - 1))
    return int(row[0]) if row else None


def count(snapshot: Snapshot) -> int:
    """Return how many memories have a text, the withdrawn ones included."""
    return int(snapshot.row("SELECT coalesce(sum(memories), 0) FROM collections")[0])


def has_chinese(snapshot: Snapshot) -> bool:
    """Return whether a text has a Chinese character of the common ones, as Japanese texts have."""
    return snapshot.row(_HAS_CHINESE) is not None or any(map(has_han, waiting(snapshot)[2]))


def failure(snapshot: Snapshot) -> str:
    """Return why a search of any word fails, such as a damaged page; empty if it works."""
    try:
        snapshot.row("SELECT 1 FROM memories_fts WHERE memories_fts MATCH 'a' LIMIT 1")
    except StorageError as error:
        return f"text search failed: {error.cause}"
    return ""


class Texts(NamedTuple):
    """Memories, ascending by id, with their indexed texts."""

    ids: list[int]
    texts: list[str]
    kinds: list[Hashable]
    """Kinds, so that folding tells no two memories of one text and kind apart; each fact has its own."""


def texts(snapshot: Snapshot, low: int, high: int, limit: int) -> Texts:
    """Return the first `limit` memories above the id `low` up to `high`."""
    return Texts(*snapshot.columns(_TEXTS, (low, high, limit), "id", "text", "kind"))


def texts_of(snapshot: Snapshot, ids: Iterable[int]) -> dict[int, str]:
    """Read the indexed texts of some memories, by memory, ascending; bars between texts keep phrases apart."""
    return dict(zip(*snapshot.columns(_TEXTS_OF, (json.dumps(sorted(ids)),), "id", "text"), strict=True))


def with_all(snapshot: Snapshot, terms: Iterable[str], behind: int) -> npt.NDArray[np.int64]:
    """Return the memories behind an id that contain all of some words and phrases, ascending."""
    sql, terms = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? AND rowid > ?", [*terms]
    ids, _, texts = waiting(snapshot)
    hits = [key for key, text in zip(ids, texts, strict=True) if key > behind and tokens.holds_all(terms, text)]
    return np.concatenate((snapshot.array(sql, (tokens.all_of(terms), behind)), np.array(hits, np.int64)))


def newest_with(snapshot: Snapshot, expression: str, behind: int, check: Sql, limit: int) -> list[int]:
    """Return the newest memories behind an id that meet an expression of FTS5 and a condition, newest first.

    Those whose texts are not indexed yet are returned whatever they say.
    """
    sql = f"""
        SELECT m.id FROM memories_fts CROSS JOIN memories AS m ON m.id = memories_fts.rowid
        WHERE memories_fts MATCH ? AND memories_fts.rowid > ? AND {check.sql} ORDER BY memories_fts.rowid DESC LIMIT ?
    """
    late_ids = [memory_id for memory_id in reversed(waiting(snapshot)[0]) if memory_id > behind]
    late = f"SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {check.sql} LIMIT ?"
    ids = snapshot.ids(late, (json_array(late_ids), *check.arguments, limit)) if late_ids else []
    return ids + snapshot.ids(sql, (expression, behind, *check.arguments, limit - len(ids)))


def text_changes(snapshot: Snapshot, since: int) -> list[tuple[int, int]]:
    """Return the memories whose texts changed after a revision, each with the revision that changed them last."""
    return snapshot.rows(_CHANGED_TEXTS, (since,))


class KeptBlock(NamedTuple):
    """Postings in the file, of the memories with ids above `low` up to `high`."""

    low: int
    high: int
    revision: int
    """Last revision before the texts were read."""
    memories: int
    """Number of memories in the block."""


def kept_blocks(snapshot: Snapshot) -> list[KeptBlock]:
    """Return the kept blocks, ascending; no two overlap. On a damaged page there are none."""
    sql = "SELECT low, high, revision, memories FROM text_blocks ORDER BY low"
    with suppress(StorageError):
        return [*map(KeptBlock._make, snapshot.rows(sql))]
    return []


def postings(snapshot: Snapshot, block: KeptBlock) -> bytes:
    """Return the postings of a kept block; empty if the block is gone or on a damaged page."""
    sql = "SELECT postings FROM text_blocks WHERE (low, high, revision) = (?, ?, ?)"
    with suppress(StorageError):
        for (data,) in snapshot.rows(sql, block[:3]):
            return data if isinstance(data, bytes) else b""
    return b""


def keep(transaction: Transaction, block: KeptBlock, data: bytes) -> None:
    """Keep a block instead of the blocks that it contains, unless it is outdated or another block overlaps it."""
    contained = "DELETE FROM text_blocks WHERE low >= ? AND high <= ? AND revision <= ?"
    transaction.execute(contained, (block.low, block.high, block.revision))
    transaction.execute(_KEEP, (*block, data))


def drop_blocks(transaction: Transaction, *, only_outdated: bool = False) -> None:
    """Drop the kept blocks, or only those with traces of deleted or changed texts."""
    outdated = f"NOT ({_IN_STEP.format(low='low', high='high', revision='text_blocks.revision', memories='memories')})"
    transaction.execute(f"DELETE FROM text_blocks WHERE {outdated if only_outdated else 'true'}")
