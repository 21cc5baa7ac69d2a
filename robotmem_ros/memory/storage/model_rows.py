"""Know of which model the vectors in the file are, and delete those of one model for those of another."""

from __future__ import annotations

import numpy as np

from . import codec
from .snapshot import Snapshot, Transaction
from .vector_rows import delete_some, store

_MODEL = "embedding_model"
_PIECE = 4096
"""Vectors of an earlier model that are deleted at once."""


def model(snapshot: Snapshot) -> str | None:
    """Return the model of the vectors; None if there never was a vector."""
    row = snapshot.row("SELECT value FROM settings WHERE name = ?", (_MODEL,))
    return str(row[0]) if row else None


def adopt(transaction: Transaction, name: str) -> bool:
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


def add(transaction: Transaction, memory_id: int, text: str, *, vector: bytes, of: str) -> None:
    """Store the float32 vector of a new memory, if the vectors of the database are of this model, or may become so."""
    # The first vector may come before maintenance has noted the model.
    if model(transaction) is None:
        adopt(transaction, of)
    if model(transaction) == of:
        (code,) = codec.encode(np.frombuffer(vector, np.float32)[np.newaxis])
        store(transaction, [(memory_id, text, code)])
