"""Write vectors to their tables and read them back, and know of which model they are.

A memory has the vector of its text, if that has one: at once when it is stored or changed, else when the text is
embedded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import StorageError
from ..models import Kind
from . import codec, revisions
from .snapshot import Snapshot, Transaction, json_array

Ids = npt.NDArray[np.int64]

_TEXT = "SELECT type, human_summary, content FROM memories WHERE id = ? AND status = 'active'"
_TEXTS = """
    SELECT m.id, m.type, m.human_summary, m.content FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
"""
_LINKS = "SELECT memory_id, vector_id FROM memories_vec"
_LINKED = 1000
"""Memories that are linked at once."""
_RETURNING = "RETURNING vector_id"
_WITHOUT = """
    SELECT m.revision, m.id, m.type, m.human_summary, m.content FROM memories AS m INDEXED BY idx_mem_revision
    WHERE (m.revision, m.id) > (?, ?) AND m.status = 'active'
    AND NOT EXISTS (SELECT 1 FROM memories_vec WHERE memory_id = m.id) ORDER BY m.revision, m.id LIMIT ?
"""
_LACKING = """
    SELECT (SELECT count(*) FROM memories) - (SELECT count(*) FROM memories WHERE status <> 'active')
    - (SELECT count(*) FROM memories_vec)
"""
_VERSION = """
    SELECT (SELECT value FROM settings WHERE name = 'embedding_model'),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0),
    (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'lost_vectors'),
    (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'late_links')
"""
_COUNT_LATE = "UPDATE settings SET value = CAST(value AS INTEGER) + 1 WHERE name = 'late_links'"
_VECTORS_OF = "FROM json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value"
_FITS = "v.parts > 0 AND length(v.embedding) = v.parts * ?"
"""Whether there is a vector, of so many bytes a part."""
_COSINE = "coalesce(1.0 - vec_distance_cosine(vec_int8(substr(v.embedding, {}, ?2)), vec_int8(?3)), -9e999)"
_SIMILARITIES = f"""
    SELECT v.id, CASE v.parts WHEN 1 THEN {_COSINE.format(1)} ELSE (
        WITH RECURSIVE part (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM part WHERE at + 1 < v.parts)
        SELECT max({_COSINE.format("1 + at * ?1")}) FROM part
    ) END
    FROM json_each(?4) AS j CROSS JOIN vectors AS v ON v.id = j.value WHERE {_FITS}1
"""
_BY_DIGEST = "SELECT v.{columns} FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.digest = j.value"


def exchange(transaction: Transaction, memory_ids: Collection[int], texts: Mapping[int, str]) -> None:
    """Unlink memories from their vectors, link active ones to those of their texts, and delete unused vectors.

    `texts` are by memory. Those without a stored vector get theirs later.
    """
    outdated = {row[0] for row in transaction.delete("memories_vec", "memory_id", memory_ids, returning=_RETURNING)}
    digests = {text: text_digest(text) for text in {*texts.values()}}
    vector_ids = dict(transaction.rows(_BY_DIGEST.format(columns="digest, v.id"), (json_array(digests.values()),)))
    links = {memory_id: vector_ids[digests[text]] for memory_id, text in texts.items() if digests[text] in vector_ids}
    transaction.insert("memories_vec (memory_id, vector_id)", "(?, ?)", list(links.items()))
    if unused_ids := outdated - {*links.values()}:
        transaction.execute(
            "DELETE FROM vectors WHERE id IN (SELECT value FROM json_each(?)) "
            "AND NOT EXISTS (SELECT 1 FROM memories_vec WHERE vector_id = vectors.id)",
            (json_array(unused_ids),),
        )


def link_anew(transaction: Transaction) -> None:
    """Link all memories to the vectors of their texts, whatever links there are; what gets another one has changed."""
    before = dict(transaction.rows(_LINKS))
    transaction.execute("DELETE FROM memories_vec")
    ids = transaction.ids("SELECT id FROM memories WHERE status = 'active' ORDER BY id")
    for start in range(0, len(ids), _LINKED):
        rows = transaction.rows(_TEXTS, (json_array(ids[start : start + _LINKED]),))
        exchange(transaction, (), {memory_id: embedded_text(*texts) for memory_id, *texts in rows})
    after = dict(transaction.rows(_LINKS))
    revisions.touch(transaction, [key for key in ids if before.get(key) != after.get(key)])
    transaction.execute("DELETE FROM vectors WHERE id NOT IN (SELECT vector_id FROM memories_vec)")


def delete_some(transaction: Transaction, limit: int) -> int:
    """Delete the first `limit` vectors, and return how many there were."""
    ids = [number for (number,) in transaction.rows("SELECT id FROM vectors ORDER BY id LIMIT ?", (limit,))]
    if ids:
        transaction.execute("UPDATE settings SET value = ? WHERE name = 'lost_vectors'", (ids[-1],))
    transaction.delete("memories_vec", "vector_id", ids)
    # A damaged file may list rows for ever that are not found.
    return len(transaction.delete("vectors", "id", ids, returning="RETURNING id"))


def count_linked(snapshot: Snapshot) -> int:
    """Return how many active memories have a vector."""
    return int(snapshot.row("SELECT count(*) FROM memories_vec")[0])


def lacking(snapshot: Snapshot) -> int:
    """Return how many active memories have no vector, by counting rows of indexes."""
    return int(snapshot.row(_LACKING)[0])


class VectorsVersion(NamedTuple):
    """What vectors there are, which no revision tells."""

    model: str | None
    newest: int
    lost: int
    """All up to this one were deleted, as those of an earlier model."""
    late_links: int
    """How often a memory got a vector that was there already."""


def version(snapshot: Snapshot) -> VectorsVersion:
    """Return how many there are now; no page with vectors is read, which may be damaged."""
    return VectorsVersion(*snapshot.row(_VERSION))


def newest(snapshot: Snapshot) -> int:
    """Return the id of the newest vector that there ever was; 0 if there was none."""
    return version(snapshot).newest


ChangeKey = tuple[int, int]
"""The revision of the last change of a memory, and its id."""
START: ChangeKey = (0, 0)


class WithoutVector(NamedTuple):
    """An active memory without a vector."""

    revision: int
    """Of its last change."""
    memory_id: int
    text: str


def without_vector(snapshot: Snapshot, after: ChangeKey, limit: int) -> list[WithoutVector]:
    """Return active memories without a vector, those changed first before others.

    They are behind a revision and an id, by both: since each change of a memory that takes its vector has a revision,
    all that comes to lack one is behind all that did before.
    """
    return [
        WithoutVector(revision, memory_id, embedded_text(*texts))
        for revision, memory_id, *texts in snapshot.rows(_WITHOUT, (*after, limit))
    ]


def latest_texts(snapshot: Snapshot, limit: int) -> list[str]:
    """Return the different texts of the latest active memories."""
    rows = snapshot.rows(
        "SELECT type, human_summary, content FROM memories WHERE status = 'active' ORDER BY id DESC LIMIT ?", (limit,)
    )
    return list(dict.fromkeys(embedded_text(*texts) for texts in rows))


def store(transaction: Transaction, entries: Iterable[tuple[int, str, Sequence[bytes] | None]]) -> bool:
    """Store vectors of memories: id, text, and the encoded vectors of its parts, or None if it has some.

    A memory that was corrected since its text was read gets none. Return whether the others have theirs: not if that of
    a text was deleted meanwhile, with the last memory of this text.
    """
    newest_before, is_complete, is_late = newest(transaction), True, False
    for memory_id, text, codes in entries:
        row = transaction.row(_TEXT, (memory_id,))
        if row is None or embedded_text(*row) != text:
            continue
        digest = text_digest(text)
        if codes is not None:
            transaction.execute(
                "INSERT INTO vectors (digest, parts, embedding) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (digest, len(codes), b"".join(codes)),
            )
        vector = transaction.row("SELECT id FROM vectors WHERE digest = ?", (digest,))
        if vector is None:
            is_complete = False
            continue
        sql = "INSERT INTO memories_vec VALUES (?, ?) ON CONFLICT DO NOTHING"
        is_linked = transaction.execute(sql, (memory_id, vector[0])).rowcount
        is_late |= is_linked > 0 and vector[0] <= newest_before
    if is_late:
        transaction.execute(_COUNT_LATE)
    return is_complete


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


def between(snapshot: Snapshot, low: int, high: int, limit: int) -> list[tuple[int, int, bytes]]:
    """Return the first encoded vectors behind an id up to another one, in the order of their ids, and their parts."""
    sql = "SELECT id, parts, embedding FROM vectors WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
    rows = snapshot.rows(sql, (low, high, limit))
    if rows and rows[-1][0] <= low:  # who goes on behind the last one would never end
        raise StorageError("read the vectors", ValueError("their ids are not in order"))
    return rows


def with_ids(snapshot: Snapshot, ids: Ids, dim: int) -> list[tuple[int, bytes]]:
    """Return the encoded vectors with these ids; those that are missing, or of another length, are skipped."""
    sql = f"SELECT v.id, v.embedding FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.id = j.value WHERE {_FITS}"
    return snapshot.rows(sql, (json_array(ids), codec.size(dim)))


def parts_of(snapshot: Snapshot, ids: Iterable[int] | Ids) -> list[tuple[int, int, bytes]]:
    """Return the encoded vectors of memories, by memory, with the number of their parts."""
    sql = f"SELECT mv.memory_id, v.parts, v.embedding {_VECTORS_OF} CROSS JOIN vectors AS v ON v.id = mv.vector_id"
    return snapshot.rows(sql, (json_array(ids),))


def of_memories(snapshot: Snapshot, ids: Iterable[int] | Ids, dim: int) -> list[tuple[int, bytes]]:
    """Return the encoded vectors of memories, by memory; none of another length."""
    sql = f"SELECT mv.memory_id, v.embedding {_VECTORS_OF} CROSS JOIN vectors AS v ON v.id = mv.vector_id WHERE {_FITS}"
    return snapshot.rows(sql, (json_array(ids), codec.size(dim)))


def ids_of(snapshot: Snapshot, ids: Iterable[int] | Ids) -> list[Ids]:
    """Return those of some memories that have a vector, and the ids of their vectors."""
    sql = f"SELECT mv.memory_id AS memory, mv.vector_id AS vector {_VECTORS_OF}"
    return snapshot.arrays(sql, (json_array(ids),), "memory", "vector")


def similarities(snapshot: Snapshot, ids: Ids, code: bytes) -> list[tuple[int, float]]:
    """Compare the vectors with these ids with a query in signed bytes, by their upper bytes: ids and cosines.

    Those that are missing, or of another length, are skipped; one of zeros is near to nothing. Of parts the nearest
    counts.
    """
    return snapshot.rows(_SIMILARITIES, (codec.size(len(code)), len(code), code, json_array(ids)))


def count_all(snapshot: Snapshot) -> int:
    """Return how many vectors there are, counting one by one."""
    return int(snapshot.row("SELECT count(*) FROM vectors")[0])


def dimension(snapshot: Snapshot) -> int:
    """Return the length of the newest vector; 0 if there is none."""
    row = snapshot.row("SELECT length(embedding) / parts FROM vectors WHERE parts > 0 ORDER BY id DESC LIMIT 1")
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
        store(transaction, [(memory_id, text, codec.encode(np.frombuffer(vector, np.float32)[np.newaxis]))])
