"""Learning: the whole way of a fact into the memory, and of its corrections.

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
from ..storage import Database, learning_rows
from ..text.subject import subject
from .correction import Correction, correct
from .judge import Judge
from .learned import Learned
from .neighbours import Neighbours, neighbours
from .store_or_merge import admit, note_contradictions

_LOG = logging.getLogger(__name__)


class Learning:
    """Learns and corrects the facts of one database. Safe to use from several threads.

    Args:
        database: The memory's.
        judge: Finds what a caller leaves open.
        areas: Tag what lies in them.
        embedder: Tells what is near in meaning, while it has a model.
        vectors: The memory's.
        parameters: Gives the parameters as they are now.
    """

    def __init__(
        self,
        database: Database,
        *,
        judge: Judge,
        areas: Areas,
        embedder: BackgroundEmbedder,
        vectors: VectorIndex,
        parameters: Callable[[], Parameters],
    ) -> None:
        self._database = database
        self._judge = judge
        self._areas = areas
        self._embedder = embedder
        self._vectors = vectors
        self._parameters = parameters
        self._knows_taxonomy = False

    def warm_up(self) -> None:
        """Reads the rules, so that the first fact is as quick as the next."""
        self._judge.warm_up()

    def learn(self, new: NewMemory) -> Learned:
        """Stores a fact, or strengthens the one that says the same. When this returns, it is on disk."""
        # Its wording is taken apart here and remembered, so that the writer finds that done.
        subject(new.collection, new.content)
        prepared = self._areas.tagged(self._judge.classifier.classified(new))
        near = self._neighbours(prepared.content)
        learned = self._database.write(lambda connection: self._admit(connection, prepared, near)).result()
        self._knows_taxonomy = True
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("learn %s: %s", shown(new.content), _told(learned))
        return learned

    def correct(self, correction: Correction) -> None:
        """Corrects a memory. When this returns, it is on disk.

        Raises:
            MemoryNotFoundError: no active memory has this id.
            InvalidFieldError: a new context moves its positions away from the frame of its pose.
        """
        self._database.write(lambda connection: self._correct(connection, correction)).result()

    def _neighbours(self, text: str) -> Neighbours:
        parameters = self._parameters()
        if not parameters.deduplicate:
            return Neighbours()
        return neighbours(self._database, self._embedder, self._vectors, text, parameters.duplicate_cosine)

    def _admit(self, connection: sqlite3.Connection, new: NewMemory, near: Neighbours) -> Learned:
        if not self._knows_taxonomy:
            learning_rows.set_taxonomy(connection, self._judge.classifier.taxonomy.meta.values())
        return admit(connection, new, near, self._parameters())

    def _correct(self, connection: sqlite3.Connection, correction: Correction) -> None:
        correct(connection, self._judge.classifier, correction)
        note_contradictions(connection, correction.memory_id, self._parameters())


def _told(learned: Learned) -> str:
    became = f"stored as {learned.memory_id}"
    if not learned.is_new:
        became = f"a duplicate of {learned.memory_id} ({learned.method}, {learned.similarity:.2f})"
    against = f", contradicts {', '.join(map(str, learned.contradicts))}" if learned.contradicts else ""
    missing = f"; {learned.reason}" if learned.reason else ""
    return f"{became}, category {learned.category!r}, confidence {learned.confidence:.2f}{against}{missing}"
