"""Write vectors to their tables and read them back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ..models import Kind
from . import bulk, codec
from .indexed_row import Rows

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


def exchange(connection: sqlite3.Connection, old: Rows, new: Rows) -> None:
    """Give rows as they are the vectors that are kept for their texts, the others get theirs later; forget unused ones.

    A vector of a row as it was stays if it fits the row as it is.
    """
    returning = "RETURNING memory_id, vector_id"
    outdated = dict(bulk.delete(connection, "memories_vec", "memory_id", [row.id for row in old], returning=returning))
    texts = {row.id: embedded_text(row.type, row.human_summary, row.content) for row in new if row.status == "active"}
    digests = {text: text_digest(text) for text in {*texts.values()}}
    known = dict(connection.execute(_KNOWN, (bulk.listed(digests.values()),))) if digests else {}
    links = {memory_id: known[digests[text]] for memory_id, text in texts.items() if digests[text] in known}
    bulk.insert(connection, "memories_vec (memory_id, vector_id)", "(?, ?)", list(links.items()))
    _count(connection, Counter(row.collection for row in new if row.id in links))
    _count(connection, Counter(row.collection for row in old if row.id in outdated), -1)
    if unused := {*outdated.values()} - {*links.values()}:
        connection.execute(_UNUSED, (bulk.listed(unused),))


def _count(connection: sqlite3.Connection, numbers: Counter[str], sign: int = 1) -> None:
    for name, number in numbers.items():
        connection.execute(_COUNT, (name, sign * number))


def lacking(connection: sqlite3.Connection) -> int:
    """Return how many active memories have no vector."""
    found: int = connection.execute(_LACKING).fetchone()[0]
    return found


def newest_memory(connection: sqlite3.Connection) -> int:
    """Return the id of the newest memory; 0 if there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").fetchone()[0])


def newest(connection: sqlite3.Connection) -> int:
    """Return the id of the newest vector; 0 if there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM vectors").fetchone()[0])


def model(connection: sqlite3.Connection) -> str | None:
    """Return the model whose vectors these are; None where none ever had one."""
    row = connection.execute("SELECT value FROM settings WHERE name = 'embedding_model'").fetchone()
    return str(row[0]) if row else None


def adopt_model(connection: sqlite3.Connection, name: str) -> str | None:
    """Note the model of the vectors to come, and forget those of another one; return the model until now."""
    before = model(connection)
    if before != name:
        clear(connection)
        connection.execute("INSERT OR REPLACE INTO settings VALUES ('embedding_model', ?)", (name,))
    return before


def pending(connection: sqlite3.Connection, last_id: int, limit: int) -> list[tuple[int, str]]:
    """Return active memories after `last_id` without a vector, and their texts, oldest first."""
    rows = connection.execute(_PENDING, (last_id, limit))
    return [(memory_id, embedded_text(*texts)) for memory_id, *texts in rows]


def store(connection: sqlite3.Connection, kept: Iterable[tuple[int, str, bytes | None]]) -> None:
    """Give memories the vectors of their texts: id, text, and the vector, or None where it should be here already.

    A memory that was corrected since its text was read gets none, nor does one whose vector should be here and is gone,
    because the last memory with that text was deleted.
    """
    added = Counter[str]()
    for memory_id, text, embedding in kept:
        row = connection.execute(_TEXT, (memory_id,)).fetchone()
        if row is None or embedded_text(*row[:3]) != text:
            continue
        digest = text_digest(text)
        if embedding is not None:
            connection.execute(
                "INSERT INTO vectors (digest, embedding) VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, embedding)
            )
        vector = connection.execute("SELECT id FROM vectors WHERE digest = ?", (digest,)).fetchone()
        if vector is not None:
            sql = "INSERT INTO memories_vec VALUES (?, ?) ON CONFLICT DO NOTHING"
            added[row[3]] += connection.execute(sql, (memory_id, vector[0])).rowcount
    _count(connection, added)


def add(connection: sqlite3.Connection, memory_id: int, text: str, *, vector: bytes, of: str) -> None:
    """Give a new memory the float32 vector of its text, if the vectors of the database are of this model."""
    if model(connection) == of:
        (kept,) = codec.encode(np.frombuffer(vector, np.float32)[np.newaxis])
        store(connection, [(memory_id, text, kept)])


def embedded_text(kind: str, summary: str, content: str) -> str:
    """Return the text whose vector a memory has: its content, of a note with the headings above it.

    Those are its summary; a paragraph may be about what only they name.
    """
    return f"{summary}\n{content}" if kind == Kind.NOTE.value and summary else content


def text_digest(text: str) -> int:
    """Return 64 bits that stand for a text; among a million texts, two agree with a probability of 3 in 100 million."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def known(connection: sqlite3.Connection, texts: Iterable[str]) -> set[str]:
    """Return the texts among these whose vector is kept."""
    digests = {text_digest(text): text for text in texts}
    rows = connection.execute(
        "SELECT digest FROM vectors WHERE digest IN (SELECT value FROM json_each(?))", (json.dumps(list(digests)),)
    )
    return {digests[digest] for (digest,) in rows}


def clear(connection: sqlite3.Connection) -> None:
    """Forget all vectors."""
    for sql in ("DELETE FROM memories_vec", "DELETE FROM vectors", "UPDATE collections SET vectors = 0"):
        connection.execute(sql)


def after(connection: sqlite3.Connection, low: int, limit: int) -> list[tuple[int, bytes]]:
    """Return the next encoded vectors with an id greater than `low`, in the order of their ids."""
    sql = "SELECT id, embedding FROM vectors WHERE id > ? ORDER BY id LIMIT ?"
    return connection.execute(sql, (low, limit)).fetchall()


def named(connection: sqlite3.Connection, ids: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return the vectors with these ids that are still there, as they are kept."""
    return connection.execute(
        "SELECT v.id, v.embedding FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.id = j.value", (json.dumps(ids),)
    ).fetchall()


def of_memories(connection: sqlite3.Connection, ids: Iterable[int], size: int) -> list[tuple[int, bytes]]:
    """Return the vectors of memories, by memory, as they are kept; those of `size` bytes only."""
    return connection.execute(
        "SELECT mv.memory_id, v.embedding FROM json_each(?) AS j "
        "CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value CROSS JOIN vectors AS v ON v.id = mv.vector_id "
        "WHERE length(v.embedding) = ?",
        (json.dumps(list(ids)), size),
    ).fetchall()


def facts_of(connection: sqlite3.Connection, ids: Sequence[int], limit: int) -> list[int]:
    """Return the facts that have one of these vectors."""
    found = connection.execute(
        "SELECT m.id FROM json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.vector_id = j.value "
        "CROSS JOIN memories AS m ON m.id = mv.memory_id WHERE m.type = 'fact' LIMIT ?",
        (json.dumps(ids), limit),
    )
    return [memory_id for (memory_id,) in found]


def count_all(connection: sqlite3.Connection) -> int:
    """Return how many vectors there are, counting one by one."""
    return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])


def all_ids(connection: sqlite3.Connection) -> npt.NDArray[np.int64]:
    """Return the ids of all vectors, ascending."""
    # The index is a fraction of the table.
    return np.sort(bulk.array(connection, "SELECT id FROM vectors INDEXED BY sqlite_autoindex_vectors_1", ()))


def dimension(connection: sqlite3.Connection) -> int:
    """Return the length of the newest vector; 0 if there is none."""
    row = connection.execute("SELECT embedding FROM vectors ORDER BY id DESC LIMIT 1").fetchone()
    return codec.dimension(row[0]) if row else 0
