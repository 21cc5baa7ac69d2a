"""Learning: the whole way of a fact into the memory, and of its corrections.

fact -> classified (category, confidence, scope, tags, parameters) -> stored
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cached_property

from ..database import learning_rows
from ..parameters import Parameters
from ..records.memory import NewMemory
from .admission import admit, note_contradictions
from .classification import Classifier, load_classifier
from .correction import Correction, correct
from .keys import keys
from .learned import Learned
from .neighbours import Neighbours


class Learning:
    """Judges facts. Safe to use from several threads; the database is written by the writer's thread only.

    Raises:
        InvalidFieldError: the file of rules or of tags cannot be used.
    """

    def __init__(self, parameters: Callable[[], Parameters]) -> None:
        self._parameters = parameters
        self._files = (parameters().rules_file, parameters().taxonomy_file)
        self._knows_taxonomy = False
        if any(self._files):
            self.warm_up()

    @cached_property
    def _classifier(self) -> Classifier:
        # Read when it is first needed: a program that only asks does not pay for it.
        return load_classifier(*self._files)

    def warm_up(self) -> None:
        """Reads the rules, so that the first fact is as quick as the next."""
        _ = self._classifier

    def prepared(self, new: NewMemory) -> NewMemory:
        """A fact with what its caller left open filled in."""
        # Its wording is taken apart here and remembered, so that the writer finds that done.
        keys(new.collection, new.content)
        return self._classifier.classified(new)

    def admit(self, connection: sqlite3.Connection, new: NewMemory, near: Neighbours) -> Learned:
        """Stores a prepared fact, or strengthens the one that says the same; to be called in a transaction."""
        if not self._knows_taxonomy:
            learning_rows.set_taxonomy(connection, self._classifier.taxonomy.meta.values())
            self._knows_taxonomy = True
        return admit(connection, new, near, self._parameters())

    def correct(self, connection: sqlite3.Connection, memory_id: int, correction: Correction) -> None:
        """Corrects a memory; to be called in a transaction.

        Raises:
            MemoryNotFoundError: no active memory has this id.
            InvalidFieldError: a new context moves its positions away from the frame of its pose.
        """
        correct(connection, self._classifier, memory_id, correction)
        note_contradictions(connection, memory_id, self._parameters())
