"""Find the facts that another fact is compared with, and measure how similar they are."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..config.parameters import Parameters
from ..embedding.background import BackgroundEmbedder
from ..embedding.embedder import check_kept_model
from ..models import NewMemory, Similarity
from ..search.vector_index import VectorIndex
from ..storage import Database, fact_index
from ..storage.fact_index import Candidate
from ..text.normal_form import digest
from ..text.statement import Statement, jaccard, statement

_MOST = 5_000
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Neighbours:
    """The facts nearest in meaning to a text, found before it is written so that the writer does not wait."""

    vector: bytes | None = None
    """Vector of the text; None if there is no model."""
    model: str = ""
    ids: tuple[int, ...] = ()
    """Facts that may be similar enough."""
    last_id: int = 0
    """Greatest id when they were found; later facts must be compared, too."""
    reason: str = ""
    """Why there is no vector."""


class Compared(NamedTuple):
    """A fact that another one is compared with."""

    fact: Candidate
    cosine: float
    """Similarity of the vectors; 0 if unknown."""


def find_neighbours(
    database: Database, embedder: BackgroundEmbedder, vectors: VectorIndex, text: str, cosine: float
) -> Neighbours:
    """Return the vector of a text and the facts that may have at least this cosine similarity.

    Does not wait for a model that is still being loaded. If the model fails, the fact is learned without it.
    """
    if not embedder.available:
        return Neighbours(reason=f"meanings were not compared: {embedder.why_not}")
    try:
        vector = embedder.embed_one(text)
        with database.snapshot() as connection:
            check_kept_model(connection, embedder.name)
            ids = tuple(vectors.facts_within(connection, vector, 1.0 - cosine, _MOST))
            return Neighbours(vector.tobytes(), embedder.name, ids, fact_index.last_id(connection))
    except Exception as error:
        _LOG.warning("meanings were not compared: %s", error)
        return Neighbours(reason=f"meanings were not compared: {error}")


def candidates_of(
    connection: sqlite3.Connection, new: NewMemory, near: Neighbours, parameters: Parameters, *, but: int = 0
) -> Mapping[int, Compared]:
    """Return the facts that a fact is compared with: of the same text, with common words, or of similar meaning."""
    found = {
        one.id: Compared(one, 0.0)
        for one in (
            *fact_index.with_digest(connection, new.collection, digest(new.content)),
            *fact_index.sharing_words(
                connection, new.collection, new.content, similarity=parameters.similar_jaccard, but=but
            ),
        )
    }
    if near.vector is not None:
        close = fact_index.near(
            connection, new.collection, near.ids, after_id=near.last_id, vector=near.vector,
            cosine=parameters.similar_cosine,
        )  # fmt: skip
        found |= {one.id: Compared(one, cosine) for one, cosine in close}
    found.pop(but, None)
    return found


def similar_among(new: NewMemory, candidates: Mapping[int, Compared], parameters: Parameters) -> list[Similarity]:
    """Return the facts that are similar to another one, most similar first; of equally similar ones the newest."""
    found, text, stated = [], digest(new.content), statement(new.content)
    for one, cosine in candidates.values():
        method, similarity = "exact", 1.0
        if one.content_hash != text:
            method, similarity = measured(stated, statement(one.content), cosine, parameters)
        if method:
            found.append(Similarity(one.id, method, similarity))
    return sorted(found, key=lambda one: (-one.similarity, -one.memory_id))


def measured(one: Statement, other: Statement, cosine: float, parameters: Parameters) -> tuple[str, float]:
    """Return the method by which different texts are similar and their similarity in [0, 1]; "" and 0 if they are not.

    `cosine` is the similarity of their vectors, 0 if unknown.
    """
    by_words = jaccard(one.terms, other.terms)
    if by_words and by_words >= parameters.similar_jaccard:
        return "jaccard", round(by_words, 6)
    if cosine and cosine >= parameters.similar_cosine:
        return "cosine", round(cosine, 6)
    return "", 0.0
