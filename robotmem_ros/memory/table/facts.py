"""The facts of a file by the terms of their statements: which of them share most with another one?

Their terms are counted in inverted lists. This is ScanCount of Li, Lu and Lu, Efficient merging and filtering
algorithms for approximate string searches, 2008.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage import Database, fact_rows, revisions, table_rows
from ..storage.fact_rows import HEAD, FactTerms, TermRow, numbers_in
from ..storage.snapshot import Snapshot, Transaction
from ..storage.table_rows import Place, key
from .column import Numbers
from .words import Words, are_among

Ids = npt.NDArray[np.int64]
_ROUNDING = 1e-9
_ID_BITS = 48


@dataclass(frozen=True)
class Facts:
    """Facts in the order of their ids, withdrawn ones included. What a position holds never changes in place."""

    ids: Numbers
    is_active: Numbers
    collections: Numbers
    """Numbers of their collections, the same for few others."""
    keys: Numbers
    """Numbers of their terms, the same for few others."""
    subjects: Numbers
    """How many of their terms are words of the subject."""
    states: Numbers
    """How many of their terms find a state of a subject, and are not compared."""
    terms: Words

    @classmethod
    def of(cls, rows: Sequence[TermRow] = ()) -> Facts:
        """Return some facts, ascending by id."""
        types = (np.int64, bool, np.uint32, np.uint32, np.int64, np.int64)
        ids, is_active, collections, keys, subjects, states = map(Numbers.of, types)
        return cls(ids, is_active, collections, keys, subjects, states, Words.empty()).put(rows)

    def put(self, rows: Sequence[TermRow]) -> Facts:
        """Return them with some facts, ascending by id, which are new or changed."""
        if not rows:
            return self
        ids, before = np.array([row.id for row in rows], np.int64), self.ids.size
        is_new = ids > self.ids.all[-1] if before else np.ones(len(ids), bool)
        at = np.where(is_new, before + np.cumsum(is_new) - 1, np.searchsorted(self.ids.all, ids))
        size = before + int(np.count_nonzero(is_new))
        keys = np.array([zlib.crc32(row.terms) for row in rows], np.uint32)
        is_other = is_new.copy()
        is_other[~is_new] = self.keys.all[at[~is_new]] != keys[~is_new]
        others = [rows[number].terms for number in np.flatnonzero(is_other).tolist()]
        numbers = numbers_in(others)
        sizes = np.array([*map(len, others)], np.int64) // numbers.itemsize
        starts = np.cumsum(sizes) - sizes
        is_term = np.ones(len(numbers), bool)
        for place in range(HEAD):
            is_term[starts + place] = False
        subjects, states = counts = np.zeros((2, len(rows)), np.int64)
        counts[:, ~is_new] = self.subjects.all[at[~is_new]], self.states.all[at[~is_new]]
        counts[:, is_other] = numbers[starts + 1], numbers[starts + 2]
        return Facts(
            self.ids.put(at, ids, size, shared=True),
            self.is_active.put(at, np.array([row.is_active for row in rows]), size, shared=True),
            self.collections.put(at, np.array([key(row.collection) for row in rows], np.uint32), size, shared=True),
            self.keys.put(at, keys, size, shared=True),
            self.subjects.put(at, subjects, size, shared=True),
            self.states.put(at, states, size, shared=True),
            self.terms.put_codes(at[is_other], numbers[is_term].astype(np.int64), sizes - HEAD, size),
        )

    def alike(self, terms: FactTerms, collection: str, similarity: float, count: int, leave_out: Ids) -> Ids:
        """Rank the active facts of a collection that are as similar to a fact with some terms, see `ranks`.

        By the Jaccard similarity of all terms, or of the words of the subject where one fact has all of the other's;
        those that tell a state of the same subject are as similar as can be.
        Those with the least `count` ranks are returned, in any order, of which some are left out.
        """
        if not self.ids.size:
            return self.ids.all
        words, size = len(terms.words), len(terms.words) + len(terms.claims)
        shared_words, shared_claims, states = (self.terms.count_all(numbers.astype(np.int64)) for numbers in terms)
        shared = shared_words + shared_claims
        at = np.flatnonzero((shared >= max(1, math.ceil(similarity * words - _ROUNDING))) | (states > 0))
        at = at[self.is_active.all[at] & (self.collections.all[at] == key(collection))]
        shared, shared_words, subjects = shared[at], shared_words[at], self.subjects.all[at]
        is_state = states[at] > 0
        fewer, more = np.minimum(subjects, words), np.maximum(subjects, words)
        is_similar = shared >= similarity * (size + self.terms.lengths[at] - self.states.all[at] - shared) - _ROUNDING
        is_similar |= (shared_words == fewer) & (fewer >= similarity * more - _ROUNDING)
        is_similar |= is_state
        is_similar &= ~are_among(self.ids.all[at], leave_out)
        lacking = np.where(is_state, 0, size - shared)
        found = ranks(lacking[is_similar], self.ids.all[at[is_similar]])
        return np.partition(found, count)[:count] if len(found) > count else found


class KnownFacts(NamedTuple):
    """All facts of a file up to a place in its changes; those that were deleted before it may be among them."""

    facts: Facts
    place: Place

    def changed(self, snapshot: Snapshot) -> list[TermRow]:
        """Return the facts that have changed since, as a snapshot or a transaction sees them."""
        return fact_rows.changed_facts(snapshot, self.place.revision)


class FactFeed:
    """Keeps the facts of a database in step with its file. They follow alone: who learns asks for no other column."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known = _NONE

    def read(self) -> None:
        """Read all facts, unless that was done, so that the first transaction that asks for them need not.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: the database cannot be read.
        """
        if not self._known.place.revision:
            with self._database.snapshot() as snapshot, self._lock:
                self._known = KnownFacts(Facts.of(fact_rows.all_facts(snapshot)), table_rows.place(snapshot))

    def before(self, transaction: Transaction) -> KnownFacts:
        """Return the facts as they were before a transaction."""
        with self._lock:
            facts, place = self._known
            if not table_rows.continues(transaction, place):
                self.release()
            elif place.revision < (last := transaction.revision - 1):
                changed = fact_rows.changed_facts(transaction, place.revision, last)
                # What the transaction itself has changed is not among them, and would come later, before others.
                ahead = np.array([row.id for row in fact_rows.changed_facts(transaction, last)], np.int64)
                if changed and not are_among(ahead[ahead < changed[-1].id], facts.ids.all).all():
                    return self._known
                self._known = KnownFacts(facts.put(changed), Place(last, revisions.epoch_of(transaction, last)))
            return self._known

    def release(self) -> None:
        """Give the facts back, until they are read again."""
        self._known = _NONE


_NONE = KnownFacts(Facts.of(), Place())


def ranks(lacking: Ids, ids: Ids) -> Ids:
    """Return the least number for the fact that lacks the fewest terms of another one; of equal ones for the newest."""
    return (lacking << _ID_BITS) - ids


def ranked(numbers: Ids) -> list[int]:
    """Return the ids of facts by their ranks, in this order."""
    ids: list[int] = (-np.sort(numbers) % (1 << _ID_BITS)).tolist()
    return ids
