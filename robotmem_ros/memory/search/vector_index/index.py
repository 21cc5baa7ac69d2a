"""The flat index: all vectors of a database, compared with each query.

Candidates that are listed are compared alone. Otherwise all vectors are, as far as their upper bytes tell, or those of
very many whose signs are alike, and then looked up, nearest first, until enough of them belong to candidates. The best
are measured again by the vectors as they are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import Executor

import numpy as np

from ...embedding import Vector, Vectors
from ...storage import codec, vector_rows
from ...storage.candidates import Candidates
from ...storage.snapshot import Snapshot
from ...table import products
from ..attributes import AttributeIndex
from ..measures import Measures
from .blocks import Ids
from .exact import measure, to_measures
from .in_place import nearest_in_place
from .matrix import MatrixFollower
from .walk import NearestFirst, Walk

_WORTHWHILE = 4
"""If there are this many times as many as wanted, upper bytes first tell which may be the nearest."""
_SURPLUS, _GROWTH = 16, 4
"""Memories that are ranked beyond those wanted if some may be no candidates, and the growth of each further look."""


class VectorIndex:
    """Searches the vectors of a database, with one of `threads` if there are any. Safe to use from several threads."""

    def __init__(self, attributes: AttributeIndex, threads: Executor | None = None) -> None:
        self.matrix = MatrixFollower(threads)
        self._attributes = attributes

    def search(self, snapshot: Snapshot, query: Vector, candidates: Candidates, depth: int) -> Measures:
        """Find the `depth` candidates nearest in meaning, by cosine similarity, nearest first and equals newest first.

        Raises:
            VectorsUnreadError: too many vectors are not in RAM yet.
        """
        if depth < 1:
            return Measures.of(())
        if candidates.ids is not None:
            return self._first(snapshot, query, candidates, candidates.ids, depth)
        matrix = self.matrix.current(snapshot, len(query))
        if matrix is None:
            return nearest_in_place(snapshot, query, candidates, depth)
        vectors = NearestFirst(matrix, query)
        return Walk(snapshot, query, candidates, depth).through(vectors, 2 * depth + 16)

    def rank(self, snapshot: Snapshot, query: Vector, ids: Ids, depth: int | None = None) -> Measures:
        """Rank some sorted memories by exact distance, the `depth` nearest or all that have a vector."""
        if depth is not None and len(ids) >= _WORTHWHILE * depth:
            ids = self._preselected(snapshot, query, ids, depth)
        return to_measures(*measure(vector_rows.of_memories(snapshot, ids), query)).rows(slice(depth))

    def _first(self, snapshot: Snapshot, query: Vector, candidates: Candidates, ids: Ids, depth: int) -> Measures:
        # More are ranked if some of those that are ranked turn out to be no candidates.
        if candidates.one_per_text and not candidates.untested:
            newest_first = ids[candidates.passing(ids)][::-1]
            vector_ids = self._attributes.vectors_of(snapshot, newest_first[::-1])[::-1]
            ids = np.sort(newest_first[np.unique(vector_ids, return_index=True)[1]])
        width = depth + (_SURPLUS if candidates.conditions else 0)
        while True:
            ranking = self.rank(snapshot, query, ids, width)
            hits = ranking.rows(candidates.first(snapshot, ranking.ids, depth))
            if len(hits.ids) == depth or len(ranking.ids) < width:
                return hits
            width *= _GROWTH

    def vectors_of(self, snapshot: Snapshot, memory_ids: Collection[int], dim: int) -> tuple[Sequence[int], Vectors]:
        """Read the vectors of some memories: which of them have one of this length, and these, unit length."""
        rows = vector_rows.of_memories(snapshot, memory_ids, size=codec.size(dim))
        return [memory_id for memory_id, _ in rows], codec.decode([blob for _, blob in rows], dim)

    @property
    def missing(self) -> str:
        """Say what makes the search slower than it could be; empty if nothing does."""
        return "; ".join(filter(None, (self.matrix.no_room, "" if products.HAS_NUMKONG else products.NUMKONG_MISSING)))

    def _preselected(self, snapshot: Snapshot, query: Vector, ids: Ids, depth: int) -> Ids:
        # Those that may be among the nearest, as their upper bytes tell, or whose vectors are not in RAM.
        matrix = self.matrix.current(snapshot, len(query))
        if matrix is None:
            return ids
        vector_ids = self._attributes.vectors_of(snapshot, ids)
        ids, vector_ids = ids[vector_ids > 0], vector_ids[vector_ids > 0]
        near = matrix.near_of(query, np.sort(vector_ids))
        if len(ids) <= depth or not len(near.ids):
            return ids
        at = np.minimum(np.searchsorted(near.ids, vector_ids), len(near.ids) - 1)
        distances = np.where(near.ids[at] == vector_ids, near.distances[at], -np.inf)
        limit = float(np.partition(distances, depth - 1)[depth - 1]) + 2 * near.error
        return ids[distances <= limit]
