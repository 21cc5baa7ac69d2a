"""Go through vectors, nearest first as far as their bytes tell, until enough of them belong to candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...conditions.sql import Sql, all_of
from ...embedding import Vector
from ...storage import vector_rows
from ...storage.candidates import Candidates
from ...storage.snapshot import Snapshot
from ...table.signs import Distances
from ..measures import Measures
from .blocks import Ids
from .exact import measure, to_measures
from .matrix import Matrix, Near

_MARGIN = 1.5
"""The factor on the number of vectors that it takes if the candidates are spread evenly."""
_ROUNDING = 2e-6
"""Greatest error of a distance by rounding."""
_SURPLUS, _GROWTH, _TOGETHER = 16, 4, 1024
"""Vectors that are looked up at once: first so many more than the depth, then ever more, up to the last number."""
_SAMPLED = 64
"""Distances for each one in a sample."""
_READ_FACTOR = 4
"""Memories that are read at once, over the depth."""


class Batch(NamedTuple):
    """Vectors that were not given before, nearest first: their ids and their cosine distances."""

    ids: Ids
    distances: Distances
    complete_up_to: float
    """Nothing nearer than this is missing from this batch and those before it."""


class NearestFirst:
    """Give vectors in batches, nearest first: their ids, and cosine distances that may be wrong by `error`."""

    def __init__(self, matrix: Matrix, query: Vector) -> None:
        self._matrix, self._query = matrix, query
        self._near: Near | None = None
        self._limit = -math.inf

    @property
    def error(self) -> float:
        """Greatest error of a distance of the last batch."""
        return self._near.error if self._near else 0.0

    def next(self, width: int) -> Batch | None:
        """Return those of the `width` nearest vectors that are new, with all as near; None when all have been given."""
        if self._limit == math.inf:
            return None
        self._near = near = self._compared(width)
        ids, distances = near.ids, near.distances
        limit = math.inf if width >= len(distances) else least(distances, width)
        at = np.flatnonzero((distances > self._limit) & (distances <= limit))
        at = at[np.argsort(distances[at], kind="stable")]
        self._limit = limit
        return Batch(ids[at], distances[at], limit)

    def _compared(self, width: int) -> Near:
        # Those whose signs are alike, as long as they have the nearest ones; then all.
        near = self._near or self._matrix.alike(self._query, width)
        return near if near.has_nearest(width) else self._matrix.near(self._query)


def least(distances: Distances, n: int) -> float:
    """Return the `n`-th least of some distances, n >= 1."""
    # All are partitioned in ten times as long as it takes to choose those that a sample says are little enough.
    sample, rank = distances[::_SAMPLED], 2 * n // _SAMPLED + 4
    if rank < len(sample):
        chosen = distances[distances <= np.partition(sample, rank)[rank]]
        if len(chosen) >= n:
            distances = chosen
    return float(np.partition(distances, n - 1)[n - 1])


class _Owners(NamedTuple):
    """Candidates and the vectors that they have, nearest first, and those with the same vector newest first."""

    memory_ids: Ids
    vector_ids: Ids


@dataclass(frozen=True)
class Walk:
    """The search for the `depth` candidates nearest to a query, on one snapshot of the database."""

    snapshot: Snapshot
    query: Vector
    candidates: Candidates
    """Not listed ones."""
    depth: int

    def through(self, vectors: NearestFirst, width: int) -> Measures:
        """Go through batch after batch, until the nearest candidates are known and nothing nearer is missing.

        Their similarities are those of the vectors as they are kept. The first batch has `width` vectors.
        """
        hits = Measures.of(())
        while (batch := vectors.next(width)) is not None:
            owners, is_enough = self._owners_in(batch, hits, vectors.error)
            hits = hits.join(self._measure(owners)).nearest_first()
            if is_enough or self._farthest(hits) < batch.complete_up_to - vectors.error - _ROUNDING:
                break
            # As many more as it takes if candidates are as frequent among the next ones; no less than twice as many.
            width = int(width * min(max(_MARGIN * self.depth / max(len(hits.ids), 1), 2), 16))
        return hits.rows(slice(self.depth))

    def _farthest(self, hits: Measures) -> float:
        # The distance of the last one that is wanted; infinity as long as there are fewer.
        return math.inf if len(hits.ids) < self.depth else 1.0 - float(hits.cosine[self.depth - 1])

    def _measure(self, owners: _Owners) -> Measures:
        ids, distances = measure(vector_rows.with_ids(self.snapshot, np.unique(owners.vector_ids)), self.query)
        is_kept = np.isin(owners.vector_ids, ids)
        return to_measures(owners.memory_ids[is_kept], distances[np.searchsorted(ids, owners.vector_ids[is_kept])])

    def _owners_in(self, batch: Batch, before: Measures, error: float) -> tuple[_Owners, bool]:
        # The candidates of a batch, and whether these and earlier ones are as many as the depth, so that farther
        # candidates of the batch were left out.
        farthest, wanted = self._farthest(before), self.depth - len(before.ids)
        positions = memory_ids = np.empty(0, np.int64)
        start, together = 0, 2 * self.depth + _SURPLUS
        while start < len(batch.ids):
            more_positions, more_ids, count = self._owners(batch.ids[start : start + together])
            positions = np.concatenate((positions, start + more_positions))
            memory_ids = np.concatenate((memory_ids, more_ids))
            start, together = start + count, min(_GROWTH * together, _TOGETHER)
            if farthest == math.inf and len(positions) >= wanted:
                farthest = float(batch.distances[positions[wanted - 1]])
            limit = farthest + 2 * error + _ROUNDING
            if batch.distances[start - 1] > limit:
                is_near = batch.distances[positions] <= limit
                return _Owners(memory_ids[is_near], batch.ids[positions[is_near]]), True
        return _Owners(memory_ids, batch.ids[positions]), False

    def _owners(self, vector_ids: Ids) -> tuple[Ids, Ids, int]:
        # The positions of vectors and the candidates that have them, and how many vectors were read: the first ones,
        # which together have fewer owners than a bound. If the first one alone has more, its newest candidates.
        if self.candidates.one_per_text:
            return *self._newest_owners(vector_ids), len(vector_ids)
        bound, count = _READ_FACTOR * self.depth, len(vector_ids)
        positions, memory_ids = vector_rows.owners(self.snapshot, vector_ids, check=self._untested, limit=bound)
        if len(positions) >= bound:
            count = int(positions[-1])
            is_complete = positions < count
            positions, memory_ids = positions[is_complete], memory_ids[is_complete]
        if count:
            return *self._newest(*self._passing(positions, memory_ids)), count
        check = self.candidates.check
        positions, memory_ids = vector_rows.newest_owners(self.snapshot, vector_ids[:1], check=check, limit=self.depth)
        return positions, memory_ids, 1

    def _newest(self, positions: Ids, memory_ids: Ids) -> tuple[Ids, Ids]:
        # Many memories can have the same vector: of each, no more are given than are wanted, the newest.
        order = np.lexsort((-memory_ids, positions))
        positions, memory_ids = positions[order], memory_ids[order]
        is_wanted = np.arange(len(positions)) - np.searchsorted(positions, positions) < self.depth
        return positions[is_wanted], memory_ids[is_wanted]

    def _newest_owners(self, vector_ids: Ids) -> tuple[Ids, Ids]:
        # The positions of vectors with candidates, and the newest candidate of each.
        newest = vector_rows.newest_of_each(self.snapshot, vector_ids)
        owners = np.where(np.isin(newest, self.candidates.among(self.snapshot, newest)), newest, 0)
        if len(others := np.flatnonzero(owners == 0)):
            positions, memory_ids = self._passing(
                *vector_rows.owners(self.snapshot, vector_ids[others], check=self._untested, limit=-1)
            )
            np.maximum.at(owners, others[positions], memory_ids)
        positions = np.flatnonzero(owners)
        return positions, owners[positions]

    def _passing(self, positions: Ids, memory_ids: Ids) -> tuple[Ids, Ids]:
        is_passing = self.candidates.passing(memory_ids)
        return positions[is_passing], memory_ids[is_passing]

    @property
    def _untested(self) -> Sql:
        return all_of(self.candidates.untested)
