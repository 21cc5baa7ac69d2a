"""Write vectors to their tables and read them back."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ..models import Kind
from . import codec
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction, json_array

_LACKING = "SELECT coalesce(sum(facts + perceptions + notes - vectors), 0) FROM collections"
_PENDING = """
    SELECT m.id, m.type, m.human_summary, m.content
    FROM memories AS m LEFT JOIN memories_vec AS v ON v.memory_id = m.id
    WHERE v.memory_id IS NULL AND m.status = 'active' AND m.id > ? ORDER BY m.id LIMIT ?
"""
_TEXT = "SELECT type, human_summary, content, collection FROM memories WHERE id = ? AND status = 'active'"
_KNOWN = "SELECT v.digest, v.id FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.digest = j.value"
_UNUSED = """
    DELETE FROM vectors WHERE id IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM memories_vec WHERE vector_id = vectors.id)
"""
_COUNT = "UPDATE collections SET vectors = vectors + ?2 WHERE name = ?1"


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Give rows as they are the vectors that are kept for their texts, the others get theirs later; forget unused ones.

    A vector of a row as it was stays if it fits the row as it is.
    """
    returning = "RETURNING memory_id, vector_id"
    outdated = dict(transaction.delete("memories_vec", "memory_id", [row.id for row in old], returning=returning))
    texts = {row.id: embedded_text(row.type, row.human_summary, row.content) for row in new if row.status == "active"}
    digests = {text: text_digest(text) for text in {*texts.values()}}
    known = dict(transaction.rows(_KNOWN, (json_array(digests.values()),))) if digests else {}
    links = {memory_id: known[digests[text]] for memory_id, text in texts.items() if digests[text] in known}
    transaction.insert("memories_vec (memory_id, vector_id)", "(?, ?)", list(links.items()))
    _count(transaction, Counter(row.collection for row in new if row.id in links))
    _count(transaction, Counter(row.collection for row in old if row.id in outdated), -1)
    if unused := {*outdated.values()} - {*links.values()}:
        transaction.execute(_UNUSED, (json_array(unused),))


def _count(transaction: Transaction, numbers: Counter[str], sign: int = 1) -> None:
    for name, number in numbers.items():
        transaction.execute(_COUNT, (name, sign * number))


def lacking(snapshot: Snapshot) -> int:
    """Return how many active memories have no vector."""
    found: int = snapshot.row(_LACKING)[0]
    return found


def newest_memory(snapshot: Snapshot) -> int:
    """Return the id of the newest memory; 0 if there is none."""
    return int(snapshot.row("SELECT coalesce(max(id), 0) FROM memories")[0])


def newest(snapshot: Snapshot) -> int:
    """Return the id of the newest vector that there ever was; 0 if there was none."""
    return int(snapshot.row("SELECT max(seq) FROM sqlite_sequence WHERE name = 'vectors'")[0] or 0)


def model(snapshot: Snapshot) -> str | None:
    """Return the model whose vectors these are; None where none ever had one."""
    row = snapshot.row("SELECT value FROM settings WHERE name = 'embedding_model'")
    return str(row[0]) if row else None


def adopt_model(transaction: Transaction, name: str) -> str | None:
    """Note the model of the vectors to come, and forget those of another one; return the model until now."""
    before = model(transaction)
    if before != name:
        clear(transaction)
        transaction.execute("INSERT OR REPLACE INTO settings VALUES ('embedding_model', ?)", (name,))
    return before


def pending(snapshot: Snapshot, last_id: int, limit: int) -> list[tuple[int, str]]:
    """Return active memories after `last_id` without a vector, and their texts, oldest first."""
    rows = snapshot.rows(_PENDING, (last_id, limit))
    return [(memory_id, embedded_text(*texts)) for memory_id, *texts in rows]


def store(transaction: Transaction, kept: Iterable[tuple[int, str, bytes | None]]) -> None:
    """Give memories the vectors of their texts: id, text, and the vector, or None where it should be here already.

    A memory that was corrected since its text was read gets none, nor does one whose vector should be here and is gone,
    because the last memory with that text was deleted.
    """
    added = Counter[str]()
    for memory_id, text, embedding in kept:
        row = transaction.row(_TEXT, (memory_id,))
        if row is None or embedded_text(*row[:3]) != text:
            continue
        digest = text_digest(text)
        if embedding is not None:
            transaction.execute(
                "INSERT INTO vectors (digest, embedding) VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, embedding)
            )
        vector = transaction.row("SELECT id FROM vectors WHERE digest = ?", (digest,))
        if vector is not None:
            sql = "INSERT INTO memories_vec VALUES (?, ?) ON CONFLICT DO NOTHING"
            added[row[3]] += transaction.execute(sql, (memory_id, vector[0])).rowcount
    _count(transaction, added)


def add(transaction: Transaction, memory_id: int, text: str, *, vector: bytes, of: str) -> None:
    """Give a new memory the float32 vector of its text, if the vectors of the database are of this model."""
    if model(transaction) == of:
        (kept,) = codec.encode(np.frombuffer(vector, np.float32)[np.newaxis])
        store(transaction, [(memory_id, text, kept)])


def embedded_text(kind: str, summary: str, content: str) -> str:
    """Return the text whose vector a memory has: its content, of a note with the headings above it.

    Those are its summary; a paragraph may be about what only they name.
    """
    return f"{summary}\n{content}" if kind == Kind.NOTE.value and summary else content


def text_digest(text: str) -> int:
    """Return 64 bits that stand for a text; among a million texts, two agree with a probability of 3 in 100 million."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def known(snapshot: Snapshot, texts: Iterable[str]) -> set[str]:
    """Return the texts among these whose vector is kept."""
    digests = {text_digest(text): text for text in texts}
    rows = snapshot.rows(
        "SELECT digest FROM vectors WHERE digest IN (SELECT value FROM json_each(?))", (json.dumps(list(digests)),)
    )
    return {digests[digest] for (digest,) in rows}


def clear(transaction: Transaction) -> None:
    """Forget all vectors."""
    for sql in ("DELETE FROM memories_vec", "DELETE FROM vectors", "UPDATE collections SET vectors = 0"):
        transaction.execute(sql)


def after(snapshot: Snapshot, low: int, limit: int) -> list[tuple[int, bytes]]:
    """Return the next encoded vectors with an id greater than `low`, in the order of their ids."""
    sql = "SELECT id, embedding FROM vectors WHERE id > ? ORDER BY id LIMIT ?"
    return snapshot.rows(sql, (low, limit))


def named(snapshot: Snapshot, ids: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return the vectors with these ids that are still there, as they are kept."""
    return snapshot.rows(
        "SELECT v.id, v.embedding FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.id = j.value", (json.dumps(ids),)
    )


def of_memories(snapshot: Snapshot, ids: Iterable[int], size: int) -> list[tuple[int, bytes]]:
    """Return the vectors of memories, by memory, as they are kept; those of `size` bytes only."""
    return snapshot.rows(
        "SELECT mv.memory_id, v.embedding FROM json_each(?) AS j "
        "CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value CROSS JOIN vectors AS v ON v.id = mv.vector_id "
        "WHERE length(v.embedding) = ?",
        (json.dumps(list(ids)), size),
    )


def facts_of(snapshot: Snapshot, ids: Sequence[int], limit: int) -> list[int]:
    """Return the facts that have one of these vectors."""
    found = snapshot.rows(
        "SELECT m.id FROM json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.vector_id = j.value "
        "CROSS JOIN memories AS m ON m.id = mv.memory_id WHERE m.type = 'fact' LIMIT ?",
        (json.dumps(ids), limit),
    )
    return [memory_id for (memory_id,) in found]


def count_all(snapshot: Snapshot) -> int:
    """Return how many vectors there are, counting one by one."""
    return int(snapshot.row("SELECT count(*) FROM vectors")[0])


def all_ids(snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """Return the ids of all vectors, ascending."""
    # The index is a fraction of the table.
    return np.sort(snapshot.array("SELECT id FROM vectors INDEXED BY sqlite_autoindex_vectors_1", ()))


def dimension(snapshot: Snapshot) -> int:
    """Return the length of the newest vector; 0 if there is none."""
    row = snapshot.row("SELECT embedding FROM vectors ORDER BY id DESC LIMIT 1")
    return codec.dimension(row[0]) if row else 0
