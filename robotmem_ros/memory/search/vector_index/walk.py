"""Go through vectors, nearest first as far as their bytes tell, until enough of them belong to candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np

from ...conditions.sql import all_of
from ...embedding import Vector
from ...storage import vector_rows
from ...storage.candidates import Candidates
from ...storage.snapshot import Snapshot
from ..measures import Measures
from .blocks import Ids
from .exact import measure, measures
from .matrix import Matrix, Near
from .signs import Distances

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


class _Candidate(NamedTuple):
    """A memory and its vector."""

    distance: float
    memory_id: int
    vector_id: int


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
            candidates, is_enough = self._found_in(batch, hits, vectors.error)
            hits = hits.join(self._measure(candidates)).nearest_first()
            if is_enough or self._farthest(hits) < batch.complete_up_to - vectors.error - _ROUNDING:
                break
            # As many more as it takes if candidates are as frequent among the next ones; no less than twice as many.
            width = int(width * min(max(_MARGIN * self.depth / max(len(hits.ids), 1), 2), 16))
        return hits.rows(slice(self.depth))

    def _farthest(self, hits: Measures) -> float:
        # The distance of the last one that is wanted; infinity as long as there are fewer.
        return math.inf if len(hits.ids) < self.depth else 1.0 - float(hits.cosine[self.depth - 1])

    def _measure(self, candidates: Sequence[_Candidate]) -> Measures:
        vector_ids = sorted({candidate.vector_id for candidate in candidates})
        ids, distances = measure(vector_rows.with_ids(self.snapshot, vector_ids), self.query)
        exact = dict(zip(ids.tolist(), distances.tolist(), strict=True))
        known = [(memory_id, exact[number]) for _, memory_id, number in candidates if number in exact]
        return measures(*(np.array(column) for column in zip(*known, strict=True))) if known else Measures.of(())

    def _found_in(self, batch: Batch, before: Measures, error: float) -> tuple[list[_Candidate], bool]:
        # The candidates of a batch, nearest first, and whether these and earlier ones are as many as the depth, so that
        # farther candidates of the batch were left out.
        candidates: list[_Candidate] = []
        farthest = self._farthest(before)
        for distance, vector_id, memory_ids in self._candidates_with(batch):
            if distance > farthest + 2 * error + _ROUNDING:
                return candidates, True
            candidates += [_Candidate(distance, memory_id, vector_id) for memory_id in memory_ids]
            if farthest == math.inf and len(before.ids) + len(candidates) >= self.depth:
                farthest = distance
        return candidates, False

    def _candidates_with(self, batch: Batch) -> Iterator[tuple[float, int, list[int]]]:
        # The vectors of a batch, nearest first, each with its distance and the candidates that have it. Many memories
        # can have the same vector: of each, no more are given than are wanted, the newest.
        start, together = 0, 2 * self.depth + _SURPLUS
        while start < len(batch.ids):
            positions, memories, count = self._owners(batch.ids[start : start + together])
            owners: list[list[int]] = [[] for _ in range(count)]
            for position, memory_id in sorted(zip(positions, memories, strict=True), reverse=True):
                if len(owners[position]) < (1 if self.candidates.one_per_text else self.depth):
                    owners[position].append(memory_id)
            end = start + count
            yield from zip(batch.distances[start:end].tolist(), batch.ids[start:end].tolist(), owners, strict=True)
            start, together = end, min(_GROWTH * together, _TOGETHER)

    def _owners(self, vector_ids: Ids) -> tuple[list[int], list[int], int]:
        # The positions of vectors, the candidates that have them, and how many vectors were read: the first ones, which
        # together have fewer owners than a bound. If the first one alone has more, its newest candidates.
        if self.candidates.one_per_text:
            positions, memories = self._newest_owners(vector_ids)
            return positions, memories, len(vector_ids)
        bound, untested = _READ_FACTOR * self.depth, all_of(self.candidates.untested)
        positions, memories = vector_rows.owners(self.snapshot, vector_ids, check=untested, limit=bound)
        count = len(vector_ids)
        if len(positions) >= bound:
            count = positions[-1]
            complete = positions.index(count)
            positions, memories = positions[:complete], memories[:complete]
        if count:
            is_passing = self.candidates.passing(np.array(memories, np.int64)).tolist()
            return [*compress(positions, is_passing)], [*compress(memories, is_passing)], count
        check = self.candidates.check
        positions, memories = vector_rows.newest_owners(self.snapshot, vector_ids[:1], check=check, limit=self.depth)
        return positions, memories, 1

    def _newest_owners(self, vector_ids: Ids) -> tuple[list[int], list[int]]:
        # The positions of vectors with candidates, and the newest candidate of each.
        newest = vector_rows.newest_of_each(self.snapshot, vector_ids)
        candidate_ids = {*self.candidates.filter(self.snapshot, newest)}
        owners = {position: memory_id for position, memory_id in enumerate(newest) if memory_id in candidate_ids}
        if rest := [position for position in range(len(newest)) if position not in owners]:
            untested = all_of(self.candidates.untested)
            positions, memories = vector_rows.owners(self.snapshot, vector_ids[rest], check=untested, limit=-1)
            is_passing = self.candidates.passing(np.array(memories, np.int64)).tolist()
            for position, memory_id in sorted(compress(zip(positions, memories, strict=True), is_passing)):
                owners[rest[position]] = memory_id
        return [*owners], [*owners.values()]
