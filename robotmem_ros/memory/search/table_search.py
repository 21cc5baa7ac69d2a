"""The two searches on a table in RAM: each measures any row, and gives the best of a mask of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.attributes import Collections
from ..config.parameters import Parameters
from ..embedding import Vector, Vectors
from ..storage import codec, vector_rows
from ..storage.snapshot import Snapshot
from ..table.column import Floats, Mask, Rows, bound
from ..table.vectors import Places, first_of
from ..table.view import View
from ..table.words import Found
from ..text.analysis import Analysis
from .measures import Measures
from .text_index.bm25 import Statistics
from .text_index.reader import TextReader
from .vector_index.exact import measure, to_measures

_FEW = 16
"""Rows that are fewer than all by this factor are measured by themselves."""
Ids = npt.NDArray[np.int64]


class Chosen(NamedTuple):
    """The memories among which is searched: rows of a table."""

    view: View
    mask: Mask

    @property
    def rows(self) -> Rows:
        """Return the rows, ascending."""
        return np.flatnonzero(self.mask)

    @property
    def has_any(self) -> bool:
        """Tell whether there is a row."""
        return bool(self.mask.any())

    def filter(self, snapshot: Snapshot, ids: Collection[int]) -> list[int]:
        """Return those of some memories that are among them, ascending."""
        rows = self.view.table.rows_of(np.array(sorted(ids), np.int64))
        chosen: list[int] = self.view.ids[rows[self.mask[rows]]].tolist()
        return chosen

    def and_(self, mask: Mask) -> Chosen:
        """Return those that a mask holds for as well."""
        return Chosen(self.view, self.mask & mask)

    def without(self, ids: Collection[int]) -> Chosen:
        """Return all but some memories."""
        mask = self.mask.copy()
        mask[self.view.table.rows_of(np.array(sorted(ids), np.int64))] = False
        return Chosen(self.view, mask)

    def only(self, ids: Collection[int]) -> Chosen:
        """Return some memories, whether they were chosen or not."""
        return Chosen(self.view, self.view.table.mask_of(self.view.table.rows_of(np.array(sorted(ids), np.int64))))


class TableTexts(TextReader):
    """Search the texts of a table for one query."""

    def __init__(self, view: View, query: Analysis, parameters: Parameters, collections: Collections) -> None:
        super().__init__(view.snapshot, (), query, parameters, ())
        self._view, self._searched = view, collections
        self._table_words, self._found = view.table.words, dict[str, Found]()
        self.hits: Rows = np.empty(0, np.intp)
        """The rows that the last search found."""

    def search(self, candidates: Chosen, depth: int) -> Measures:  # type: ignore[override]
        """Find the best `depth` candidates that contain a word of the query, by BM25.

        Raises:
            StorageError: the texts cannot be read.
        """
        self._check()
        if not self._query.words or depth < 1:
            return Measures.of(())
        count = int(np.count_nonzero(candidates.mask))
        if _FEW * count < len(candidates.mask):
            return self._measured(candidates.rows, depth)
        rows = self.hits = best_rows(np.where(candidates.mask, self.bm25, 0.0), depth)
        return Measures.of(self._view.ids[rows], bm25=self.bm25[rows])

    def rank(self, ids: Collection[int] | Ids, depth: int | None = None) -> Measures:
        """Rank those of some memories that contain a word of the query, best first: the best `depth`, or all."""
        sorted_ids = ids if isinstance(ids, np.ndarray) else np.array(sorted(ids), np.int64)
        if not self._query.words or not len(sorted_ids):
            return Measures.of(())
        return self._measured(self._view.table.rows_of(sorted_ids), depth)

    def holding(self, terms: Sequence[str]) -> Mask:
        """Tell which rows contain all of some words and phrases; none without a term.

        Raises:
            StorageError: the texts cannot be read.
        """
        self._check()
        return self._table_words.holding(terms)

    def holding_any(self, words: Sequence[str]) -> Mask:
        """Tell which rows contain any of some words."""
        mask = np.zeros(len(self._view.ids), bool)
        for word in words:
            mask |= self.holding([word])
        return mask

    @cached_property
    def bm25(self) -> Floats:
        """Return the score of each row."""
        weighted = self._weighted
        sums, repeats = self._table_words.weigh(
            [(self._find(word), weight) for word, weight in weighted.words.items()],
            [(self._find(compound), weight) for compound, weight in weighted.compounds.items()],
        )
        once = self._view.once(("part", weighted.formula), lambda: weighted.formula.part(1, self._table_words.lengths))
        scores = sums * once
        for weight, rows, counts in repeats:
            lengths = self._table_words.lengths[rows]
            scores[rows] += weight * (weighted.formula.part(counts, lengths) - once[rows])
        return scores

    def _check(self) -> None:
        if error := self._view.table.words_error:
            raise error

    def _find(self, term: str) -> Found:
        if term not in self._found:
            self._found[term] = self._table_words.find(term.split())
        return self._found[term]

    def _measured(self, rows: Rows, depth: int | None) -> Measures:
        scores, words = self._weighted.measure(self._table_words, rows)
        ids = self._view.ids[rows]
        best = np.lexsort((-ids, -scores))[:depth]
        best = best[scores[best] > 0]
        return Measures.of(ids[best], bm25=scores[best], words=words[:, best].T)

    def _statistics(self) -> Statistics:
        self._check()
        if self._cached_statistics is None:
            memories, total, mask = self._view.once(("searched", self._searched), self._count_searched)
            counts = {word: self._find(word).count(mask) for word in self._with_compounds}
            frequencies = {word: count for word, count in counts.items() if count}
            self._cached_statistics = Statistics(memories, total / max(memories, 1), frequencies)
        return self._cached_statistics

    def _count_searched(self) -> tuple[int, int, Mask | None]:
        # Memories and words of the collections, and their mask unless they are all.
        lengths = self._table_words.lengths
        mask = self._searched.mask(self._view) & self._view.table.present.all
        memories = int(np.count_nonzero(mask))
        if memories == len(lengths):
            return memories, int(lengths.sum(dtype=np.int64)), None
        return memories, int(lengths[mask].sum(dtype=np.int64)), mask


class TableVectors:
    """Search the vectors of a table; what the words found is measured with what is near."""

    def __init__(self, view: View, texts: TableTexts) -> None:
        self._view, self._texts = view, texts
        self._known = Measures.of(())
        self._places = view.table.vector_places.all

    def search(self, snapshot: Snapshot, query: Vector, candidates: Chosen, depth: int) -> Measures:
        """Find the `depth` candidates nearest in meaning, by cosine, nearest first and equals newest first.

        Raises:
            StorageError: the vectors cannot be read.
        """
        if error := self._view.table.vectors_error:
            raise error
        vectors, size = self._view.table.vectors, self._view.table.vector_ids.size
        if depth < 1 or vectors.dim != len(query):
            return Measures.of(())
        chosen = candidates.mask & (self._places >= 0)
        count = int(np.count_nonzero(chosen))
        if not count:
            return Measures.of(())
        wanted = None if count == self._view.table.linked else self._places_of(chosen, count, size)
        near = vectors.near(query, wanted, size, depth)
        is_first = first_of(near.similarities, depth, near.error)
        rows = self._rows_with(near.places[is_first], chosen, size)
        if wanted is None and len(rows) < min(depth, count):  # some are vectors that no row has any more
            near = vectors.near(query, self._places_of(chosen, count, size), size, depth)
            rows = self._rows_with(near.places[first_of(near.similarities, depth, near.error)], chosen, size)
        self._known = self._exact(snapshot, query, np.union1d(rows, self._texts.hits))
        is_near = np.isin(self._known.ids, self._view.ids[rows])
        return self._known.rows(np.flatnonzero(is_near)[:depth])

    def _places_of(self, chosen: Mask, count: int, size: int) -> Places:
        # The places of the vectors of some rows, each once.
        if _FEW * count < len(chosen):
            return np.unique(self._places[chosen]).astype(np.intp)
        wanted = np.zeros(size, bool)
        wanted[self._places[chosen]] = True
        return np.flatnonzero(wanted)

    def _rows_with(self, places: Places, chosen: Mask, size: int) -> Rows:
        # Those of the chosen rows that have a vector at one of some places.
        is_there = np.zeros(size + 1, bool)  # the last one is that of -1
        is_there[places] = True
        return np.flatnonzero(is_there.take(self._places, mode="wrap") & chosen)

    def rank(self, snapshot: Snapshot, query: Vector, ids: Ids) -> Measures:
        """Rank some sorted memories that have a vector by exact distance."""
        rows = self._view.table.rows_of(ids)
        is_asked = np.isin(self._known.ids, self._view.ids[rows])
        if np.count_nonzero(is_asked) == np.count_nonzero(self._places[rows] >= 0):
            return self._known.rows(np.flatnonzero(is_asked))
        return self._exact(snapshot, query, rows)

    def vectors_of(self, snapshot: Snapshot, memory_ids: Collection[int], dim: int) -> tuple[Sequence[int], Vectors]:
        """Read the vectors of some memories: which of them have one of this length, and these, unit length."""
        rows = vector_rows.of_memories(snapshot, memory_ids, size=codec.size(dim))
        return [memory_id for memory_id, _ in rows], codec.decode([blob for _, blob in rows], dim)

    def _exact(self, snapshot: Snapshot, query: Vector, rows: Rows) -> Measures:
        rows = rows[self._places[rows] >= 0]
        vector_ids = self._view.table.vector_ids.all[self._places[rows]]
        ids, distances = measure(vector_rows.with_ids(snapshot, np.unique(vector_ids)), query)
        is_kept = np.isin(vector_ids, ids)
        at = np.searchsorted(ids, vector_ids[is_kept])
        return to_measures(self._view.ids[rows[is_kept]], distances[at])


def best_rows(scores: Floats, n: int) -> Rows:
    """Return the rows with the greatest scores above zero, best first, of equals the last: `n`, or all."""
    rows = np.flatnonzero((scores > 0) & (scores >= -bound(-scores, n)))
    best: Rows = rows[np.lexsort((-rows, -scores[rows]))[:n]]
    return best


def in_order(rows: Rows, n: int, *keys: npt.NDArray[np.number]) -> Iterator[int]:
    """Yield rows in the order of keys, which these rows have: the first few are sorted by themselves."""
    is_first = np.asarray(keys[0] <= bound(keys[0], 2 * n))
    for part in (np.flatnonzero(is_first), np.flatnonzero(~is_first)):
        yield from rows[part[np.lexsort([key[part] for key in reversed(keys)])]].tolist()
