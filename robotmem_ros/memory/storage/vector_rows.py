"""Write vectors to their tables and read them back, and know of which model they are."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ..errors import StorageError
from ..models import Kind
from . import codec
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction, json_array

Ids = npt.NDArray[np.int64]

UNREAD = b""
"""Vector of a text that the model does not read: such a memory lacks none, and no search by meaning finds it."""
_TEXT = "SELECT type, human_summary, content, collection FROM memories WHERE id = ? AND status = 'active'"
_VECTORS_OF = "FROM json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value"
_BY_COLLECTION = """
    SELECT collection, count(*) FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value GROUP BY 1
"""
_COUNT = "UPDATE collections SET vectors = vectors + ?2 WHERE name = ?1"
_BY_DIGEST = "SELECT v.{columns} FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.digest = j.value"


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Link new rows to the stored vectors of their texts, unlink old rows, and delete unused vectors.

    Texts without a stored vector get theirs later.
    """
    returning = "RETURNING memory_id, vector_id"
    outdated = dict(transaction.delete("memories_vec", "memory_id", [row.id for row in old], returning=returning))
    texts = {row.id: embedded_text(row.type, row.human_summary, row.content) for row in new if row.status == "active"}
    digests = {text: text_digest(text) for text in {*texts.values()}}
    vector_ids = dict(transaction.rows(_BY_DIGEST.format(columns="digest, v.id"), (json_array(digests.values()),)))
    links = {memory_id: vector_ids[digests[text]] for memory_id, text in texts.items() if digests[text] in vector_ids}
    transaction.insert("memories_vec (memory_id, vector_id)", "(?, ?)", list(links.items()))
    if unused_ids := {*outdated.values()} - {*links.values()}:
        transaction.execute(
            "DELETE FROM vectors WHERE id IN (SELECT value FROM json_each(?)) "
            "AND NOT EXISTS (SELECT 1 FROM memories_vec WHERE vector_id = vectors.id)",
            (json_array(unused_ids),),
        )
    _count(transaction, Counter(row.collection for row in new if row.id in links))
    _count(transaction, Counter(row.collection for row in old if row.id in outdated), -1)


def clear_links(transaction: Transaction) -> None:
    """Unlink all memories from their vectors, which stay."""
    transaction.execute("DELETE FROM memories_vec")
    transaction.execute("UPDATE collections SET vectors = 0")


def delete_unused(transaction: Transaction) -> None:
    """Delete the vectors that no memory has."""
    transaction.execute("DELETE FROM vectors WHERE id NOT IN (SELECT vector_id FROM memories_vec)")


def delete_some(transaction: Transaction, limit: int) -> int:
    """Delete the first `limit` vectors, and return how many there were."""
    ids = [number for (number,) in transaction.rows("SELECT id FROM vectors ORDER BY id LIMIT ?", (limit,))]
    memories = transaction.delete("memories_vec", "vector_id", ids, returning="RETURNING memory_id")
    _count(transaction, Counter(dict(transaction.rows(_BY_COLLECTION, (json_array(row[0] for row in memories),)))), -1)
    # A damaged file may list rows for ever that are not found.
    return len(transaction.delete("vectors", "id", ids, returning="RETURNING id"))


def _count(transaction: Transaction, numbers: Counter[str], sign: int = 1) -> None:
    for name, number in numbers.items():
        transaction.execute(_COUNT, (name, sign * number))


def lacking(snapshot: Snapshot) -> int:
    """Return how many active memories have no vector."""
    sql = "SELECT total(facts) + total(perceptions) + total(notes) - total(vectors) FROM collections"
    return int(snapshot.row(sql)[0])


def newest(snapshot: Snapshot) -> int:
    """Return the id of the newest vector that there ever was; 0 if there was none."""
    return int(snapshot.row("SELECT max(seq) FROM sqlite_sequence WHERE name = 'vectors'")[0] or 0)


def without_vector(snapshot: Snapshot, last_id: int, limit: int) -> list[tuple[int, str]]:
    """Return active memories after `last_id` without a vector, and their texts, oldest first."""
    rows = snapshot.rows(
        "SELECT m.id, m.type, m.human_summary, m.content FROM memories AS m LEFT JOIN memories_vec AS v "
        "ON v.memory_id = m.id WHERE v.memory_id IS NULL AND m.status = 'active' AND m.id > ? ORDER BY m.id LIMIT ?",
        (last_id, limit),
    )
    return [(memory_id, embedded_text(*texts)) for memory_id, *texts in rows]


def latest_texts(snapshot: Snapshot, limit: int) -> list[str]:
    """Return the different texts of the latest active memories."""
    rows = snapshot.rows(
        "SELECT type, human_summary, content FROM memories WHERE status = 'active' ORDER BY id DESC LIMIT ?", (limit,)
    )
    return list(dict.fromkeys(embedded_text(*texts) for texts in rows))


def store(transaction: Transaction, entries: Iterable[tuple[int, str, bytes | None]]) -> None:
    """Store vectors of memories: id, text, and the vector, or None if the text should have one already.

    A memory that was corrected since its text was read gets none, nor does a memory whose vector should be stored but
    was deleted with the last memory with its text.
    """
    counts = Counter[str]()
    for memory_id, text, embedding in entries:
        row = transaction.row(_TEXT, (memory_id,))
        if row is None or embedded_text(*row[:3]) != text:
            continue
        digest = text_digest(text)
        if embedding is not None:
            transaction.execute(
                "INSERT INTO vectors (digest, embedding) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (digest, embedding),
            )
        vector = transaction.row("SELECT id FROM vectors WHERE digest = ?", (digest,))
        if vector is not None:
            sql = "INSERT INTO memories_vec VALUES (?, ?) ON CONFLICT DO NOTHING"
            counts[row[3]] += transaction.execute(sql, (memory_id, vector[0])).rowcount
    _count(transaction, counts)


def embedded_text(kind: str, summary: str, content: str) -> str:
    """Return the text from which the vector of a memory is made: its content, after the headings of a note.

    The headings are the summary of the note, and may name the subject of a paragraph.
    """
    return f"{summary}\n{content}" if kind == Kind.NOTE.value and summary else content


def text_digest(text: str) -> int:
    """Return 64 bits that stand for a text; among a million texts, two agree with a probability of 3 in 100 million."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def known_texts(snapshot: Snapshot, texts: Iterable[str]) -> set[str]:
    """Return the texts that have a stored vector."""
    digests = {text_digest(text): text for text in texts}
    return {digests[digest] for (digest,) in snapshot.rows(_BY_DIGEST.format(columns="digest"), (json_array(digests),))}


def between(snapshot: Snapshot, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
    """Return the first encoded vectors behind an id up to another one, in the order of their ids."""
    sql = "SELECT id, embedding FROM vectors WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
    rows = snapshot.rows(sql, (low, high, limit))
    if rows and rows[-1][0] <= low:  # who goes on behind the last one would never end
        raise StorageError("read the vectors", ValueError("their ids are not in order"))
    return rows


def with_ids(snapshot: Snapshot, ids: Ids) -> list[tuple[int, bytes]]:
    """Return the encoded vectors with these ids; missing ids are skipped."""
    return snapshot.rows(
        "SELECT v.id, v.embedding FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.id = j.value", (json_array(ids),)
    )


def of_memories(snapshot: Snapshot, ids: Iterable[int] | Ids, *, size: int = 0) -> list[tuple[int, bytes]]:
    """Return the encoded vectors of memories, by memory; only those of `size` bytes, unless that is 0."""
    sql = f"SELECT mv.memory_id, v.embedding {_VECTORS_OF} CROSS JOIN vectors AS v ON v.id = mv.vector_id"
    if size:
        return snapshot.rows(f"{sql} WHERE length(v.embedding) = ?", (json_array(ids), size))
    return snapshot.rows(sql, (json_array(ids),))


def ids_of(snapshot: Snapshot, ids: Iterable[int] | Ids) -> list[Ids]:
    """Return those of some memories that have a vector, and the ids of their vectors."""
    sql = f"SELECT mv.memory_id AS memory, mv.vector_id AS vector {_VECTORS_OF}"
    return snapshot.arrays(sql, (json_array(ids),), "memory", "vector")


def similarities(snapshot: Snapshot, ids: Ids, code: bytes) -> list[tuple[int, float]]:
    """Compare the vectors with these ids with a query in signed bytes, by their upper bytes: ids and cosines.

    Those that are missing, or of another length, are skipped; one of zeros is near to nothing.
    """
    sql = (
        "SELECT v.id, coalesce(1.0 - vec_distance_cosine(vec_int8(substr(v.embedding, 1, ?)), vec_int8(?)), -9e999) "
        "FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.id = j.value WHERE length(v.embedding) = ?"
    )
    return snapshot.rows(sql, (len(code), code, json_array(ids), codec.size(len(code))))


def count_all(snapshot: Snapshot) -> int:
    """Return how many vectors there are, counting one by one."""
    return int(snapshot.row("SELECT count(*) FROM vectors")[0])


def dimension(snapshot: Snapshot) -> int:
    """Return the length of the newest vector; 0 if there is none."""
    row = snapshot.row("SELECT embedding FROM vectors WHERE length(embedding) > 0 ORDER BY id DESC LIMIT 1")
    return codec.dimension(row[0]) if row else 0


_MODEL = "embedding_model"
_PIECE = 4096
"""Vectors of an earlier model that are deleted at once."""


def model(snapshot: Snapshot) -> str | None:
    """Return the model of the vectors; None if there never was a vector."""
    row = snapshot.row("SELECT value FROM settings WHERE name = ?", (_MODEL,))
    return str(row[0]) if row else None


def adopt_model(transaction: Transaction, name: str) -> bool:
    """Note the model that the vectors shall be of; return whether its vectors may be made, else adopt it again.

    Vectors of two models cannot be compared: those of another one are deleted before, piece by piece.
    """
    before = model(transaction)
    if before == name:
        return True
    if before is not None and delete_some(transaction, _PIECE):
        return False
    transaction.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_MODEL, name))
    return True


def add_vector(transaction: Transaction, memory_id: int, text: str, *, vector: bytes, of: str) -> None:
    """Store the float32 vector of a new memory, if the vectors of the database are of this model, or may become so."""
    # The first vector may come before maintenance has noted the model.
    if model(transaction) is None:
        adopt_model(transaction, of)
    if model(transaction) == of:
        (code,) = codec.encode(np.frombuffer(vector, np.float32)[np.newaxis])
        store(transaction, [(memory_id, text, code)])
