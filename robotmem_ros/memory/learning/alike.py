"""Find the facts that share most terms with a fact: count its terms in inverted lists in RAM.

This is ScanCount of Li, Lu and Lu, Efficient merging and filtering algorithms for approximate string searches, 2008.
The lists are a log-structured merge tree of few segments, fed with the changes of the file. What changed since is read
by whoever searches, so that nothing that is stored is missed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage import fact_index
from ..storage.fact_index import Candidate, FactTerms, Terms
from ..storage.followers import Place
from ..storage.snapshot import Snapshot

_RATIO, _SMALL = 4, 256
"""A segment is taken into the next one if it is less than this many times as large, or has fewer facts than this."""
_LOOKED_AT = 1024
"""Number of similar facts, those that lack the fewest terms, among which active ones are looked for."""
_GONE = 1 << 30
"""Number of words that masks an entry: its fact has changed, and is in a later segment."""
_ROUNDING = 1e-9
_ID_BITS = 48

Numbers = npt.NDArray[np.int64]


class Segment(NamedTuple):
    """The terms of some facts, and for each term the facts that have it."""

    ids: Numbers
    words: Numbers
    """Number of words of each fact's subject."""
    claims: Numbers
    """Number of parts of each fact's claim."""
    terms: Terms
    """All terms of all facts, sorted."""
    places: npt.NDArray[np.int32]
    """The place in `ids` of the fact that has each of the terms."""
    last_id: int
    """The greatest id."""

    def without(self, ids: Numbers) -> Segment:
        """Return a segment in which these facts are masked."""
        if ids.min() > self.last_id or not (is_changed := np.isin(self.ids, ids)).any():
            return self
        return self._replace(words=np.where(is_changed, _GONE, self.words))

    def join(self, later: Segment) -> Segment:
        """Return a segment with the facts of both that are not masked."""
        terms = np.concatenate((self.terms, later.terms))
        places = np.concatenate((self.places, later.places + np.int32(len(self.ids))))
        order = np.argsort(terms, kind="stable")
        ids, words, claims = (np.concatenate(pair) for pair in zip(self[:3], later[:3], strict=True))
        terms, places, stays = terms[order], places[order], words < _GONE
        if not stays.all():
            ids, words, claims = ids[stays], words[stays], claims[stays]
            new_places, of_those = np.cumsum(stays, dtype=np.int32) - np.int32(1), stays[places]
            terms, places = terms[of_those], new_places[places[of_those]]
        return Segment(ids, words, claims, terms, places, max(self.last_id, later.last_id))

    def similar(self, query: FactTerms, similarity: float) -> tuple[Numbers, Numbers]:
        """Return the facts that are as similar, and how many terms of the query each of them lacks.

        By the Jaccard similarity of all terms, or of the words of the subject where one fact has all of the other's.
        """
        size, words, terms = len(query.words) + len(query.claims), len(query.words), np.concatenate(query)
        starts, ends = (self.terms.searchsorted(terms, side).tolist() for side in ("left", "right"))
        runs = list(map(slice, starts, ends))
        shared_words = self._count(runs[:words])
        shared = shared_words + self._count(runs[words:])
        is_similar = shared >= similarity * (size + self.words + self.claims - shared) - _ROUNDING
        fewer, more = np.minimum(self.words, words), np.maximum(self.words, words)
        is_similar |= (shared_words == fewer) & (fewer >= similarity * more - _ROUNDING)
        is_similar &= (shared > 0) & (self.words < _GONE)
        return self.ids[is_similar], size - shared[is_similar]

    def _count(self, runs: Sequence[slice]) -> Numbers:
        # For each fact in how many runs of `places` it is: each is of one term.
        places = np.concatenate([_NO_PLACES, *(self.places[run] for run in runs)])
        return np.bincount(places, minlength=len(self.ids))


_NO_PLACES = np.zeros(0, np.int32)
Segments = tuple[Segment, ...]


class AlikeFacts:
    """The facts of one state of a database, and those that a job adds to it. For one thread."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._added: list[tuple[int, bytes, bytes]] = []

    def add(self, memory_id: int, collection: str, content: str) -> None:
        """Add a fact that was stored since."""
        terms = fact_index.fact_terms(collection, content)
        self._added.append((memory_id, terms.words.tobytes(), terms.claims.tobytes()))

    def find(
        self, snapshot: Snapshot, collection: str, content: str, *, similarity: float, but: int = 0
    ) -> list[Candidate]:
        """Return the active facts of a collection that may be as similar as this, by all terms or by the subject.

        At most 64, those that lack the fewest terms; of equal ones the newest. `but` is the id of a fact to leave out.
        """
        self._segments, self._added = _extended(self._segments, self._added), []
        query = fact_index.fact_terms(collection, content)
        matches = [segment.similar(query, similarity) for segment in self._segments]
        if not any(len(ids) for ids, _ in matches):
            return []
        ids, lacking = (np.concatenate(arrays) for arrays in zip(*matches, strict=True))
        keys = (lacking << _ID_BITS) - ids
        if len(keys) > _LOOKED_AT:
            keys = np.partition(keys, _LOOKED_AT)[:_LOOKED_AT]
        keys.sort()
        best = -keys % (1 << _ID_BITS)
        return fact_index.first_active(snapshot, collection, best.tolist(), but=but)


class FactIndex:
    """A follower with the terms of all facts of a database. Safe to use from several threads."""

    name = "index facts"

    def __init__(self) -> None:
        self._state: tuple[Place, Segments] = Place(), ()
        self._updating = threading.Lock()

    def __len__(self) -> int:
        """Return the number of entries; a fact that was changed has several."""
        return sum(len(segment.ids) for segment in self._state[1])

    @property
    def progress(self) -> Place:
        """Return the place up to which all changes are applied."""
        return self._state[0]

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Take in the facts that have changed; return that nothing is left to do."""
        with self._updating:
            last, segments = self._state
            changes = fact_index.changed(snapshot, last.revision, place.revision)
            self._state = Place(*map(max, last, place)), _extended(segments, changes)
        return False

    def now(self, snapshot: Snapshot) -> AlikeFacts:
        """Return the facts as they are in a snapshot, or in a transaction."""
        (revision, _), segments = self._state
        return AlikeFacts(_extended(segments, fact_index.changed(snapshot, revision)))


def _extended(segments: Segments, rows: Sequence[tuple[int, bytes, bytes]]) -> Segments:
    if not rows:
        return segments
    segment = _segment(rows)
    earlier = [other.without(segment.ids) for other in segments]
    while earlier and len(earlier[-1].ids) < max(_RATIO * len(segment.ids), _SMALL):
        segment = earlier.pop().join(segment)
    return *earlier, segment


def _segment(rows: Sequence[tuple[int, bytes, bytes]]) -> Segment:
    ids, words, claims = zip(*rows, strict=True)
    terms = FactTerms.from_bytes(b"".join(words), b"".join(claims))
    sizes = np.array([[*map(len, blobs)] for blobs in (words, claims)], np.int64) // terms.words.itemsize
    numbers = np.concatenate(terms)
    places = np.repeat(np.tile(np.arange(len(ids), dtype=np.int32), 2), sizes.ravel())
    order = np.argsort(numbers, kind="stable")
    return Segment(np.array(ids, np.int64), sizes[0], sizes[1], numbers[order], places[order], max(ids))
