"""Find the facts that share most terms with a fact, those of an open transaction included.

The facts in RAM are as they were before the transaction. What has changed since is a tail of them: it is read once for
each job, and a job that is rolled back leaves nothing behind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..storage.snapshot import Snapshot
from ..storage.term_rows import Candidate, TermRow, encoded, fact_terms, first_active
from ..table.facts import Facts, Ids, KnownFacts, ranked, ranks
from ..text.statement import Statement, jaccard, same_subject, statement

_ONE_BY_ONE = 32
"""So many facts at most that a job has stored are compared one by one; more are counted in the tail."""
_LOOKED_AT = 1024
"""Number of similar facts, those that lack the fewest terms, among which some that are still there are looked for."""
_NONE = np.empty(0, np.int64)


class _Added(NamedTuple):
    """A fact that a job has stored."""

    id: int
    collection: str
    content: str


class AlikeFacts:
    """The facts as a snapshot or a transaction sees them, and those that a job adds. For one thread."""

    def __init__(self, snapshot: Snapshot, known: KnownFacts) -> None:
        self._snapshot = snapshot
        self._facts, self._tail = known.facts, Facts.of(known.changed(snapshot))
        self._added: list[_Added] = []
        """The last ones, which are looked at one by one."""

    def add(self, memory_id: int, collection: str, content: str) -> None:
        """Add a fact that was stored since."""
        if len(self._added) == _ONE_BY_ONE:
            self._tail = self._tail.put([TermRow(key, True, name, encoded(text)) for key, name, text in self._added])
            self._added = []
        self._added.append(_Added(memory_id, collection, content))

    def find(self, collection: str, content: str, *, similarity: float, but: int = 0) -> list[Candidate]:
        """Return the active facts of a collection that may be as similar as this, by all terms or by the subject.

        At most 64, those that lack the fewest terms; of equal ones the newest. `but` is the id of a fact to leave out.
        """
        terms = fact_terms(content)
        found = np.concatenate(
            (
                self._facts.alike(terms, collection, similarity, _LOOKED_AT, self._tail.ids.all),
                self._tail.alike(terms, collection, similarity, _LOOKED_AT, _NONE),
                self._added_ones(collection, statement(content), similarity),
            )
        )
        ids = [key for key in ranked(found) if key != but]
        return first_active(self._snapshot, collection, ids)

    def _added_ones(self, collection: str, stated: Statement, similarity: float) -> Ids:
        near = []
        for fact in self._added:
            other = statement(fact.content)
            if fact.collection == collection and (
                jaccard(stated.terms, other.terms) >= similarity or same_subject(stated.words, other.words, similarity)
            ):
                near.append((len(stated.terms - other.terms), fact.id))
        lacking, ids = np.array(near, np.int64).reshape(-1, 2).T
        return ranks(lacking, ids)
