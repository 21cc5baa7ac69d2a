"""The facts nearest in meaning to one that is being learned: found before it is written, so that no writer waits."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass

from ..embedding.backfill import check_kept_model
from ..embedding.background import BackgroundEmbedder
from ..models import Vector
from ..search.vector_index import VectorIndex
from ..storage import Database, fact_rows, vector_rows

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
    database: Database, embedder: BackgroundEmbedder, vectors: VectorIndex, text: str, cosine: float
) -> Neighbours:
    """The vector of a text and the memories that may have at least this cosine similarity.

    Does not wait for a model that is still being loaded. Whatever a model does, the fact can be learned without it.
    """
    if not embedder.available:
        return Neighbours(reason=f"meanings were not compared: {embedder.why_not}")
    try:
        vector = embedder.embed_one(text)
        with database.snapshot() as connection:
            check_kept_model(connection, embedder.name)
            return _near(connection, vectors, vector, embedder.name, 1.0 - cosine)
    except Exception as error:
        _LOG.warning("meanings were not compared: %s", error)
        return Neighbours(reason=f"meanings were not compared: {error}")


def _near(
    connection: sqlite3.Connection, vectors: VectorIndex, vector: Vector, model: str, distance: float
) -> Neighbours:
    found = vectors.within(connection, vector, distance, _MOST)
    ids = tuple(vector_rows.facts_of(connection, found, _MOST))
    return Neighbours(vector.tobytes(), model, ids, fact_rows.last_id(connection))
