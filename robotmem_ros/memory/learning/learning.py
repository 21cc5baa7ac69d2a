"""Learn and correct facts.

fact -> classified (category, confidence, scope, tags, parameters) -> tagged with its area -> compared -> stored
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

from ..areas import Areas
from ..config.parameters import Parameters
from ..embedding.background import BackgroundEmbedder
from ..errors import shown
from ..models import NewMemory
from ..search.vector_index import VectorIndex
from ..storage import Database, fact_rows, object_rows
from ..text.statement import statement
from .candidates import Neighbours, find_neighbours
from .classification import Classifier
from .correction import Correction, correct
from .store_or_merge import Learned, link_again, store_or_merge

_LOG = logging.getLogger(__name__)


class Learning:
    """Learn and correct the facts of one database. Safe to use from several threads.

    Args:
        database: The memory's database.
        classifier: Returns the classifier that fills in what a caller leaves open.
        areas: Tag the facts inside them.
        embedder: Embeds texts, if it has a model, to find facts of similar meaning.
        vectors: The memory's index of vectors.
        parameters: Returns the current parameters.
    """

    def __init__(
        self,
        database: Database,
        *,
        classifier: Callable[[], Classifier],
        areas: Areas,
        embedder: BackgroundEmbedder,
        vectors: VectorIndex,
        parameters: Callable[[], Parameters],
    ) -> None:
        self._database = database
        self._classifier = classifier
        self._areas = areas
        self._embedder = embedder
        self._vectors = vectors
        self._parameters = parameters
        self._knows_taxonomy = False

    def warm_up(self) -> None:
        """Load the rules, so that the first fact is as quick as the next."""
        self._classifier()

    def learn(self, new: NewMemory) -> Learned:
        """Store a fact, or reinforce the one with the same text. When this returns, it is on disk."""
        # Parsed here, not in the writer, which then finds it in the cache.
        statement(new.content)
        prepared = self._areas.tagged(self._classifier().classified(new))
        near = self._neighbours(prepared.content)
        learned = self._database.write(lambda connection: self._store(connection, prepared, near)).result()
        self._knows_taxonomy = True
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("learn %s: %s", shown(new.content), _described(learned))
        return learned

    def correct(self, correction: Correction) -> None:
        """Correct a memory. When this returns, it is on disk.

        Raises:
            MemoryNotFoundError: no active memory has this id.
            InvalidFieldError: the memory cannot have a value, or its positions would be in different frames.
        """
        content = correction.columns.get("content")
        near = self._neighbours(content) if isinstance(content, str) else None
        self._database.write(lambda connection: self._correct(connection, correction, near)).result()

    def _neighbours(self, text: str) -> Neighbours:
        return find_neighbours(self._database, self._embedder, self._vectors, text, self._parameters().similar_cosine)

    def _store(self, connection: sqlite3.Connection, new: NewMemory, near: Neighbours) -> Learned:
        if not self._knows_taxonomy:
            fact_rows.set_taxonomy(connection, self._classifier().taxonomy.meta.values())
        return store_or_merge(connection, new, near, self._parameters())

    def _correct(self, connection: sqlite3.Connection, correction: Correction, near: Neighbours | None) -> None:
        correct(connection, self._classifier(), self._areas, correction)
        if "confidence" in correction.columns:
            object_rows.confirm(connection, correction.memory_id, self._parameters().object_min_existence)
        link_again(connection, correction.memory_id, near, self._parameters())


def _described(learned: Learned) -> str:
    stored = f"{'stored as' if learned.is_new else 'a duplicate of'} {learned.memory_id}"
    alike = f" ({learned.method}, {learned.similarity:.2f})" if learned.method else ""
    similar = f", similar to {', '.join(map(str, learned.similar_ids))}" if learned.similar_ids else ""
    against = f", contradicts {', '.join(map(str, learned.contradicts))}" if learned.contradicts else ""
    missing = f"; {learned.reason}" if learned.reason else ""
    rest = f"category {learned.category!r}, confidence {learned.confidence:.2f}"
    return f"{stored}{alike}{similar}, {rest}{against}{missing}"
