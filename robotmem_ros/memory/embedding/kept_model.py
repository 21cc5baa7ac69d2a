"""Of which model the vectors of a database are: those of two models are never compared."""

from __future__ import annotations

import sqlite3

from ..storage import vector_rows
from .embedder import ModelUnavailableError


def check_kept_model(connection: sqlite3.Connection, model: str) -> None:
    """Does nothing where the vectors are those of this model, or where there never were any.

    Raises:
        ModelUnavailableError: they are those of another one.
    """
    kept = vector_rows.model(connection)
    if kept not in (None, model):
        raise ModelUnavailableError(f"the vectors in the database are those of the model {kept!r}, not of {model!r}")
