"""Know of which model the vectors in the file are, and exchange the vectors of one model for those of another."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from . import codec
from .snapshot import Snapshot, Transaction
from .vector_rows import CURRENT, NEXT, Tables, store, without_vector

_MODEL, _NEXT_MODEL = "embedding_model", "next_model"
_COUNT_LACKING = (
    "UPDATE collections SET vectors = vectors - 1 WHERE name = (SELECT collection FROM memories WHERE id = ?)"
)
_PIECE = 4096
"""Vectors of an earlier model that are deleted at once."""


def model(snapshot: Snapshot) -> str | None:
    """Return the model of the vectors; None if there never was a vector."""
    return _setting(snapshot, _MODEL)


def next_model(snapshot: Snapshot) -> str | None:
    """Return the model whose vectors are being made to replace them; None if there is none."""
    return _setting(snapshot, _NEXT_MODEL)


def _setting(snapshot: Snapshot, name: str) -> str | None:
    row = snapshot.row("SELECT value FROM settings WHERE name = ?", (name,))
    return str(row[0]) if row else None


def tables_of(snapshot: Snapshot, name: str) -> Tables | None:
    """Return the tables of the vectors of a model; None if the file is to have none."""
    if model(snapshot) == name:
        return CURRENT
    return NEXT if next_model(snapshot) == name else None


def adopt(transaction: Transaction, name: str) -> bool:
    """Note the model that the vectors shall be of; return whether its vectors may be made, else adopt it again.

    Those of a third model are deleted before, piece by piece.
    """
    if tables_of(transaction, name) is NEXT:
        return True
    transaction.execute("DELETE FROM settings WHERE name = ?", (_NEXT_MODEL,))
    before = model(transaction)
    if before is None:
        transaction.execute("INSERT INTO settings VALUES (?, ?)", (_MODEL, name))
    elif before != name:
        if delete_leftovers(transaction):
            return False
        # No id is used again in the file: an index in RAM may have seen vectors of an earlier model.
        (greatest_id,) = transaction.row(
            "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name IN ('vectors', 'next_vectors')"
        )
        transaction.execute("DELETE FROM sqlite_sequence WHERE name = 'next_vectors'")
        transaction.execute("INSERT INTO sqlite_sequence VALUES ('next_vectors', ?)", (greatest_id,))
        transaction.execute("INSERT INTO settings VALUES (?, ?)", (_NEXT_MODEL, name))
    return True


def replace(transaction: Transaction, name: str, without: Collection[int]) -> bool:
    """Let the vectors of the next model be the current ones, if it is this one and no other memories lack one.

    Return whether that was done.
    """
    rows = without_vector(transaction, 0, len(without) + 1, NEXT)
    if next_model(transaction) != name or not {memory_id for memory_id, _ in rows} <= {*without}:
        return False
    for current, following in zip(CURRENT, NEXT, strict=True):
        for source, target in ((current, "earlier"), (following, current), ("earlier", following)):
            transaction.execute(f"ALTER TABLE {source} RENAME TO {target}")
    transaction.execute("DELETE FROM settings WHERE name = ?", (_NEXT_MODEL,))
    transaction.execute("UPDATE settings SET value = ? WHERE name = ?", (name, _MODEL))
    transaction.execute("UPDATE collections SET vectors = facts + perceptions + notes")
    for memory_id, _ in rows:
        transaction.execute(_COUNT_LACKING, (memory_id,))
    return True


def delete_leftovers(transaction: Transaction) -> bool:
    """Delete some vectors of a model that is neither the current nor the next one; return whether there were any."""
    if next_model(transaction) is not None:
        return False
    ids = [number for (number,) in transaction.rows("SELECT id FROM next_vectors LIMIT ?", (_PIECE,))]
    transaction.delete(NEXT.links, "vector_id", ids)
    # A damaged file may list rows for ever that are not found.
    return bool(transaction.delete(NEXT.vectors, "id", ids, returning="RETURNING id"))


def add(transaction: Transaction, memory_id: int, text: str, *, vector: bytes, of: str) -> None:
    """Store the float32 vector of a new memory, if the vectors of the database are of this model, or may become so."""
    current_model = model(transaction)
    # The first vector may come before maintenance has noted the model.
    if current_model is None:
        adopt(transaction, of)
    if current_model in (None, of):
        (code,) = codec.encode(np.frombuffer(vector, np.float32)[np.newaxis])
        store(transaction, [(memory_id, text, code)])
