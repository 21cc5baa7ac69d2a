"""The facts nearest in meaning to one that is being learned: found before it is written, so that no writer waits."""

from __future__ import annotations

import json
import logging
import sqlite3
from dataclasses import dataclass

from ..database import Database, wording_rows
from ..embedding.background import BackgroundEmbedder
from ..embedding.embedder import Vector
from ..recall.vector_matrix import VectorMatrix

_FIRST = 64
_MOST = 5_000
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Neighbours:
    """What is known of the meaning of a text before it is written."""

    vector: bytes | None = None
    model: str = ""
    ids: tuple[int, ...] = ()
    """Facts that may be near enough."""
    last_id: int = 0
    """The greatest id that was there; what came later must be looked at too."""
    reason: str = ""
    """Why there is no vector."""


def neighbours(
    database: Database, embedder: BackgroundEmbedder, matrix: VectorMatrix, text: str, cosine: float
) -> Neighbours:
    """The vector of a text and the memories that may have at least this cosine similarity.

    Does not wait for a model that is still being loaded. Whatever a model does, the fact can be learned without it.
    """
    if not embedder.available:
        return Neighbours(reason=f"meanings were not compared: {embedder.why_not}")
    try:
        vector = embedder.embed_one(text)
        with database.snapshot() as connection:
            return _near(connection, matrix, vector, embedder.name, 1.0 - cosine)
    except Exception as error:
        _LOG.warning("meanings were not compared: %s", error)
        return Neighbours(reason=f"meanings were not compared: {error}")


def _near(
    connection: sqlite3.Connection, matrix: VectorMatrix, vector: Vector, model: str, distance: float
) -> Neighbours:
    rows: list[int] = []
    for batch, seen_up_to in matrix.ranked(connection, vector, _FIRST):
        rows += batch
        if seen_up_to > distance or len(rows) >= _MOST:
            break
    found = connection.execute(
        "SELECT memory_id FROM memories_vec WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(rows),)
    )
    ids = tuple(memory_id for (memory_id,) in found)
    return Neighbours(vector.tobytes(), model, ids, wording_rows.last_id(connection))
