"""Search for the vectors nearest to a query in batches, until there are enough."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...embedding import Vector
from ...storage import codec, vector_rows
from . import segment
from .brute_force import Rows
from .segment import Distances, Ids, Segment

_READ = 8192
_WIDEST = 4
"""If more than one in this many vectors is wanted, the index cannot help: all are compared."""


class Batch(NamedTuple):
    """Vectors that were not given before, nearest first: their ids and their cosine distances."""

    ids: Ids
    distances: Distances
    complete_up_to: float
    """Nothing nearer than this is missing from this batch and those before it."""
    error: float
    """By how much a distance may be wrong; 0 if they were computed from the vectors as they are kept."""


class Batches:
    """Give vectors in batches, nearest first: first from the files and the newest, at last all there are.

    With `selected`, sorted ids, only these vectors: all of them are compared.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        query: Vector,
        segments: Sequence[Segment],
        newest: Rows,
        selected: Ids | None = None,
    ) -> None:
        self.connection = connection
        self._query = query
        self._segments = segments
        self._selected = selected
        if selected is not None:
            wanted = np.isin(newest.ids, selected)
            newest = Rows(newest.ids[wanted], newest.vectors[wanted])
        self._newest = newest.ids, codec.cosine_distances(newest.vectors, query)
        self._indexed = sum(one.row.vectors for one in segments)
        self._given: set[int] = set()
        self._over = False

    def next(self, width: int, *, deep: bool = False) -> Batch | None:
        """Return those of about the `width` nearest vectors that are new; None when all have been given.

        `deep` is for a search under a filter, as for a segment.
        """
        if self._over:
            return None
        query = codec.as_bytes(self._query[np.newaxis])[0]
        if self._segments and self._selected is not None:
            parts = [one.nearest_of(query, width, self._selected) for one in self._segments]
            error, limits = segment.ERROR, [float(near[-1]) if len(near) == width else math.inf for _, near in parts]
        elif not self._segments or width * _WIDEST > self._indexed:
            error, parts, limits = 0.0, list(self._all(width)), []
        else:
            parts = [one.nearest(query, width, deep=deep) for one in self._segments]
            error, limits = segment.ERROR, [float(near[-1]) if len(near) else math.inf for _, near in parts]
        limits.append(_limit(self._newest[1], width) if not self._segments else math.inf)
        parts.append(self._newest)
        self._over = min(limits) == math.inf
        return self._batch(parts, min(limits), error)

    def exact(self, ids: Collection[int]) -> dict[int, float]:
        """Compute the exact cosine distances of some vectors, by id, without those that are gone."""
        found, near = measured(vector_rows.named(self.connection, list(ids)), self._query)
        return dict(zip(found.tolist(), near.tolist(), strict=True))

    def _batch(self, parts: Sequence[tuple[Ids, Distances]], limit: float, error: float) -> Batch:
        ids = np.concatenate([ids for ids, _ in parts])
        near = np.concatenate([near for _, near in parts])
        chosen = np.flatnonzero(near <= limit)
        if self._given:
            known = np.fromiter(self._given, np.int64, len(self._given))
            chosen = chosen[~np.isin(ids[chosen], known)]
        chosen = chosen[np.argsort(near[chosen], kind="stable")]
        self._given.update(ids[chosen].tolist())
        return Batch(ids[chosen], near[chosen], limit, error)

    def _all(self, width: int) -> Iterator[tuple[Ids, Distances]]:
        # Those of the segments, read from the database.
        low = 0
        for one in self._segments:
            while low < one.row.high:
                found = vector_rows.after(self.connection, low, _READ, one.row.high)
                if not found:
                    break
                low = found[-1][0]
                yield measured(found, self._query)


def measured(kept: Sequence[tuple[int, bytes]], query: Vector) -> tuple[Ids, Distances]:
    """Compute the cosine distances of kept vectors, with their ids; skip those of another length than the query's."""
    fitting = [(row_id, blob) for row_id, blob in kept if len(blob) == codec.size(len(query))]
    ids = np.array([row_id for row_id, _ in fitting], np.int64)
    return ids, codec.distances([blob for _, blob in fitting], query)


def _limit(near: Distances, width: int) -> float:
    # Vectors at the same distance stand in the same batch.
    return float(np.partition(near, width - 1)[width - 1]) if width < len(near) else math.inf
