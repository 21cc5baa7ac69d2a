"""Search for the vectors nearest to a query in batches, until enough of them belong to candidates."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...embedding import Vector
from ...storage import bulk, codec, vector_rows
from ..candidates import Candidates, Source, filter_ids
from ..result import DISTANCE_DIGITS, Hit, Ranking
from . import segment
from .brute_force import Rows
from .segment import Distances, Ids, Segment

MARGIN = 1.5
"""The factor on the number of vectors that it takes if the candidates are spread evenly."""
_ROUNDING = 2e-6
"""What rounding may move a distance by."""
_READ = 8192
_WIDEST = 4
"""If more than one in this many vectors is wanted, the index cannot help: all are compared."""
_MORE, _GROWTH, _TOGETHER = 16, 4, 1024
"""How many vectors are looked up at once: first so many more than are wanted, then ever more, up to the last number."""
_EACH, _ROWS = 4, 8192
"""How many memories are read at once for each wanted one, and how many in all if they are checked later."""


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
            at = np.searchsorted(newest.ids, selected)
            at = at[newest.ids.take(at, mode="clip") == selected] if len(newest.ids) else at[:0]
            newest = Rows(newest.ids[at], newest.vectors[at])
        self._newest = newest.ids, codec.cosine_distances(newest.vectors, query)
        self._indexed = sum(one.row.vectors for one in segments)
        if segments:
            self._bytes = codec.as_bytes(query[np.newaxis])[0]
        self._given: set[int] = set()
        self._over = False

    def next(self, width: int, *, deep: bool = False) -> Batch | None:
        """Return those of about the `width` nearest vectors that are new; None when all have been given.

        `deep` is for a search under a filter, as for a segment.
        """
        if self._over:
            return None
        if self._segments and self._selected is not None:
            parts = [one.nearest_of(self._bytes, width, self._selected) for one in self._segments]
            error, limits = segment.ERROR, [float(near[-1]) if len(near) == width else math.inf for _, near in parts]
        elif not self._segments or width * _WIDEST > self._indexed:
            error, parts, limits = 0.0, list(self._all(width)), []
        else:
            parts = [one.nearest(self._bytes, width, deep=deep) for one in self._segments]
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


class _Found(NamedTuple):
    """A memory and its vector."""

    distance: float
    memory_id: int
    vector_id: int


def find(batches: Batches, candidates: Candidates, depth: int, width: int, *, deep: bool) -> Ranking:
    """Go through batch after batch, until the nearest `depth` candidates are known and nothing nearer is missing."""
    hits: Ranking = []
    while (batch := batches.next(width, deep=deep)) is not None:
        deep = True
        found, is_enough = _found_in(batches.connection, batch, candidates, hits, depth)
        if batch.error:
            exact = batches.exact({one.vector_id for one in found})
            found = [one._replace(distance=exact[one.vector_id]) for one in found]
        hits += [Hit(one.memory_id, round(one.distance, DISTANCE_DIGITS)) for one in found]
        hits.sort(key=lambda hit: (hit.measure, -hit.memory_id))
        complete_up_to = batch.complete_up_to - batch.error - _ROUNDING
        if is_enough or (len(hits) >= depth and hits[depth - 1].measure < complete_up_to):
            break
        # As many more as it takes if candidates are as frequent among the next ones; no less than twice as many.
        width = int(width * min(max(MARGIN * depth / max(len(hits), 1), 2), 16))
    return hits[:depth]


def _found_in(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, before: Ranking, wanted: int
) -> tuple[list[_Found], bool]:
    # The candidates of a batch, nearest first. The second says that with those before there are as many as are wanted,
    # and that what is farther was left out.
    found: list[_Found] = []
    farthest = before[wanted - 1].measure if len(before) >= wanted else math.inf
    for distance, vector_id, memory_ids in _candidates_with(connection, batch, candidates, wanted):
        if distance > farthest + 2 * batch.error + _ROUNDING:
            return found, True
        found += [_Found(distance, memory_id, vector_id) for memory_id in memory_ids]
        if farthest == math.inf and len(before) + len(found) >= wanted:
            farthest = distance
    return found, False


def _candidates_with(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, wanted: int
) -> Iterator[tuple[float, int, list[int]]]:
    # The vectors of a batch, nearest first, each with its distance and the candidates that have it. Many memories can
    # have the same vector: of each, no more are given than are wanted, the newest.
    read = _checked if candidates.superset is None else _intersected
    start, together = 0, wanted + _MORE
    while start < len(batch.ids):
        positions, memories, count = read(connection, batch.ids[start : start + together], candidates, wanted)
        having: list[list[int]] = [[] for _ in range(count)]
        for position, memory_id in sorted(zip(positions, memories, strict=True), reverse=True):
            if len(having[position]) < wanted:
                having[position].append(memory_id)
        end = start + count
        yield from zip(batch.distances[start:end].tolist(), batch.ids[start:end].tolist(), having, strict=True)
        start, together = end, min(_GROWTH * together, _TOGETHER)


def _checked(
    connection: sqlite3.Connection, vector_ids: Ids, candidates: Candidates, wanted: int
) -> tuple[Sequence[int], Sequence[int], int]:
    return _having(connection, vector_ids, candidates.check(), most=_EACH * wanted, of_one=wanted)


def _intersected(
    connection: sqlite3.Connection, vector_ids: Ids, candidates: Candidates, wanted: int
) -> tuple[Sequence[int], Sequence[int], int]:
    # The memories of a vector are read from an index alone, and only those in the superset are checked.
    positions, memories, count = _having(connection, vector_ids, None, most=_ROWS, of_one=-1)
    allowed = candidates.may_contain(np.array(memories, np.int64))
    possible = np.array((positions, memories), np.int64)[:, allowed]
    right = filter_ids(connection, candidates, possible[1].tolist())
    pairs = [(position, memory_id) for position, memory_id in possible.T.tolist() if memory_id in right]
    return [position for position, _ in pairs], [memory_id for _, memory_id in pairs], count


def _having(
    connection: sqlite3.Connection, vector_ids: Ids, check: Source | None, *, most: int, of_one: int
) -> tuple[list[int], list[int], int]:
    # The positions of vectors and the memories that have them, for the first vectors that have less than `most`
    # together, and how many vectors these are; at least one, of which the newest `of_one` are read if it has more.
    sql = (
        "SELECT j.key AS position, v.memory_id AS memory FROM json_each(?) AS j "
        "CROSS JOIN memories_vec AS v ON v.vector_id = j.value"
    )
    if check is not None:
        sql += f" CROSS JOIN memories AS m ON m.id = v.memory_id WHERE {check.sql}"
    arguments = check.arguments if check is not None else ()

    def read(those: Ids, order: str, limit: int) -> list[list[int]]:
        wanted = (json.dumps(those.tolist()), *arguments, limit)
        return bulk.read(connection, f"{sql} {order} LIMIT ?", wanted, "position", "memory")

    positions, memories = read(vector_ids, "", most)
    if len(positions) < most:
        return positions, memories, len(vector_ids)
    if count := positions[-1]:
        complete = positions.index(count)
        return positions[:complete], memories[:complete], count
    positions, memories = read(vector_ids[:1], "ORDER BY v.memory_id DESC", of_one)
    return positions, memories, 1
