"""The meaning of one query: how near the vectors of rows are, by their upper bytes, and exactly as they are kept.

The query may still be embedded in another thread: the vectors of a few rows are read before its own is waited for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import cached_property

import numpy as np

from ..embedding import Vector, Vectors
from ..storage import codec, vector_rows
from ..table.column import Floats, Rows
from ..table.vectors import Similarities
from ..table.view import Chosen, View
from .scoring import as_cosines


class VectorSearch:
    """The search by the vector of one query, which `embedded` gives or raises why there is none.

    Raises:
        StorageError: the vectors cannot be read.
    """

    def __init__(self, view: View, embedded: Callable[[], Vector]) -> None:
        if view.table.vectors_error:
            raise view.table.vectors_error
        self._view, self._embedded = view, embedded
        self._places, self._vectors = view.table.vector_places.all, view.vectors

    @cached_property
    def query(self) -> Vector:
        """Return the vector of the query, once it is embedded."""
        return self._embedded()

    @property
    def error(self) -> float:
        """Return the greatest error of a similarity, since components are rounded."""
        return self._vectors.error(self.query)

    def similarities(self, chosen: Chosen) -> Similarities:
        """Return the cosine of each chosen row, not exact, see `error`; minus infinity of one without a vector."""
        similarities: Similarities = self._of(chosen.rows) if chosen.are_few else chosen.of(self._all)
        return similarities

    def exact(self, rows: Rows) -> Floats:
        """Return the cosine of some rows, rounded to six digits so that equal ones tie; NaN of one without a vector.

        Raises:
            StorageError: the vectors cannot be read.
        """
        similarities = np.full(len(rows), math.nan)
        at = np.flatnonzero(self._places[rows] >= 0)
        vector_ids = self._view.table.vector_ids.all[self._places[rows[at]]]
        rows_of_ids = vector_rows.with_ids(self._view.snapshot, np.unique(vector_ids), self._vectors.dim)
        codes = [code for _, code in rows_of_ids]
        vectors = codec.decode(codes, self._vectors.dim) if codes else None
        if self._fits and vectors is not None:
            ids = np.array([vector_id for vector_id, _ in rows_of_ids], np.int64)
            of_ids = as_cosines(codec.nearest_of(vectors, codes, self.query)[1])
            places = np.searchsorted(ids, vector_ids)
            is_kept = ids.take(places, mode="clip") == vector_ids
            similarities[at[is_kept]] = of_ids[places[is_kept]]
        return similarities

    def vectors_of(self, memory_ids: Collection[int]) -> tuple[Sequence[int], Vectors]:
        """Read the vectors of some memories, of parts the nearest: which have one, and these, of unit length."""
        rows = vector_rows.of_memories(self._view.snapshot, memory_ids, len(self.query))
        return [memory_id for memory_id, _ in rows], codec.nearest([code for _, code in rows], self.query)[0]

    @property
    def _fits(self) -> bool:
        return self._vectors.dim == len(self.query)

    @cached_property
    def _all(self) -> Similarities:
        if not self._fits:
            return np.full(len(self._places), -np.inf, np.float32)
        # The place of a row without a vector is -1, the last one.
        of_vectors = self._vectors.similarities(self.query, self._view.table.vector_ids.size)
        if self._view.once("each row has its own vector", self._has_own):
            return of_vectors
        return np.append(of_vectors, np.float32(-np.inf)).take(self._places)

    def _has_own(self) -> bool:
        return np.array_equal(self._places, np.arange(self._view.table.vector_ids.size))

    def _of(self, rows: Rows) -> Similarities:
        similarities = np.full(len(rows), -np.inf, np.float32)
        at = np.flatnonzero(self._places[rows] >= 0)
        places = self._places[rows[at]]
        if (places[1:] > places[:-1]).all():
            back: slice | Rows = slice(None)
        else:  # rows with the same vector, or an older one than the row before
            places, back = np.unique(places, return_inverse=True)
        compare = self._vectors.comparison(places)
        if self._fits:
            similarities[at] = compare(self.query)[back]
        return similarities
