"""All vectors of a database, ready to be searched by cosine distance.

Few candidates are all compared: by sqlite-vec, where they lie, as far as their upper bytes tell, and the best of these
exactly. Otherwise the nearest vectors are looked up, one batch after the other, until enough of them belong to
candidates: that takes about (memories / candidates) vectors for each wanted one. One of these costs about four times as
much as one that is compared, so this is the quicker way when candidates² > 4 * wanted * memories.

If sorted ids are known that contain all candidates, only their vectors are compared, where the index has them. That
costs so little for each that it is the quicker way until ids² > 32 * wanted * memories. Measured at a million memories,
of which a window of time leaves 10,000: 25 ms instead of 330 ms.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from ...embedding import Vector, Vectors
from ...storage import Database, bulk, codec, vector_rows
from ...storage.overview import overview
from ..candidates import Candidates, Condition, enumerate_if_few, filter_ids, only
from ..result import DISTANCE_DIGITS, Hit, Ranking
from . import segment
from .batches import MARGIN, Batches, find, measured
from .brute_force import BruteForceVectors, Rows
from .index_builder import IndexBuilder
from .segment import Distances, Ids

_LOOKUP_COST = 4
"""What it costs to find a vector in the index and to see which of its memories are candidates, over comparing one."""
_SELECTION_COST, _SELECTION_COST_BRUTE_FORCE = 32, 8
"""The same if sorted ids are known that contain the candidates.

Without files of the index all vectors are compared anyway, and it costs next to nothing to look at more of them.
"""
_DENSE = 2
"""To read a row that follows another one takes a third of what it takes to look one up."""
_WORTHWHILE = 4
"""If there are this many times as many as wanted, sqlite-vec first chooses those that may be the nearest.

That takes half as long as to compare all exactly: for 20 of 10,000, 26 ms instead of 44 ms on two cores.
"""
_SLACK = 0.02
"""What is farther than the last one wanted by so much, as far as upper bytes tell, is not among the nearest.

Upper bytes are rounded, which puts a distance off by a standard deviation of 0.29 / |vector|, in units of the bytes:
4e-4 for vectors of the default model, 2e-3 at most, if one component outweighs all others.
"""
_LISTED = 200
"""How many similar memories are listed by id at most."""
_FIRST_WIDTH = 64
_FEW_FACTS, _FEW_AMONG = 2_000, 8
"""To compare so many facts takes no longer than to search the index for the nearest vectors of any memory. Without an
index it pays if they are one in so many vectors."""
_VECTORS_OF_FACTS = """
    SELECT mv.vector_id AS id FROM memories AS m INDEXED BY idx_mem_hash
    CROSS JOIN memories_vec AS mv ON mv.memory_id = m.id WHERE m.content_hash IS NOT NULL
"""
_HAS_VECTOR = "EXISTS (SELECT 1 FROM memories_vec AS mv WHERE mv.memory_id = m.id)"
_IS_NEAR = """EXISTS (
    SELECT 1 FROM memories_vec AS mv CROSS JOIN vectors AS v ON v.id = mv.vector_id
    WHERE mv.memory_id = m.id AND round(kept_distance(v.embedding, ?), 6) <= ?
)"""
_VECTORS_OF = "FROM json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value"


class VectorIndex:
    """The vectors of a database. Safe to use from several threads.

    From `minimum` vectors on they are put into files of the index by `update`; those that are not in one yet are
    compared one by one. Without usearch, and in memory, all are.
    """

    def __init__(self, database: Database, minimum: int) -> None:
        self._minimum = minimum
        self._lock = threading.Lock()
        self._newest = BruteForceVectors()
        self._builder = IndexBuilder(database, minimum)

    def search(self, connection: sqlite3.Connection, query: Vector, candidates: Candidates, depth: int) -> Ranking:
        """Find the `depth` candidates nearest in meaning, by cosine distance (0 is the same, 2 the opposite)."""
        if depth < 1:
            return []
        if candidates.ids is not None:
            return self.rank(connection, query, candidates.ids, depth)
        vectors = overview(connection).vectors
        selected = self._selected(connection, candidates, depth, vectors)
        width, deep = 2 * depth + 16, False
        if selected is None:
            candidates = enumerate_if_few(connection, candidates, math.isqrt(_LOOKUP_COST * depth * vectors))
            if candidates.ids is not None:
                return self.rank(connection, query, candidates.ids, depth)
            if candidates.superset is not None:
                # As many as it takes if the memories that the narrowest condition allows are spread evenly.
                width = int(MARGIN * vectors / max(len(candidates.superset), 1) * (depth + 16))
                deep = True
        batches = self.batches(connection, query, selected)
        return find(batches, candidates, depth, width, deep=deep)

    def rank(
        self, connection: sqlite3.Connection, query: Vector, ids: Collection[int], depth: int | None = None
    ) -> Ranking:
        """Rank some memories by exact distance, the `depth` nearest or all that have a vector."""
        if self._in_ram(connection, len(ids), depth):
            memory_ids, at, newest = self._rows_of(connection, ids, len(query))
            if _WORTHWHILE * len(at) > len(newest.ids):
                return _ranking(memory_ids, codec.cosine_distances(newest.vectors, query)[at], depth)
            return _ranking(memory_ids, codec.cosine_distances(newest.vectors[at], query), depth)
        if depth is not None and len(ids) >= _WORTHWHILE * depth:
            ids = _preselected(connection, query, ids, depth)
        pairs = connection.execute(
            f"SELECT mv.memory_id, v.embedding {_VECTORS_OF} CROSS JOIN vectors AS v ON v.id = mv.vector_id",
            (json.dumps(list(ids)),),
        ).fetchall()
        memory_ids, distances = measured(pairs, query)
        return _ranking(memory_ids, distances, depth)

    def similar(
        self,
        connection: sqlite3.Connection,
        query: Vector,
        candidates: Candidates,
        margin: float,
        *,
        unmeasured: bool,
    ) -> Candidates | None:
        """Find the candidates at most `margin` farther in cosine distance than the nearest one; None without one.

        They are listed up to `_LISTED`; of more, each is measured when its turn comes. With `unmeasured`, those that
        have no vector yet are among them.
        """
        if candidates.ids is not None:
            hits = self.rank(connection, query, candidates.ids)
        else:
            hits = self.search(connection, query, candidates, _LISTED + 1)
        if not hits:
            return None
        farthest = hits[0].measure + margin
        near = [hit.memory_id for hit in hits if hit.measure <= farthest]
        unmeasured = unmeasured and vector_rows.lacking(connection) > 0
        if candidates.ids is not None:
            others = candidates.and_(Condition(f"NOT {_HAS_VECTOR}"))
            return only([*near, *filter_ids(connection, others, candidates.ids)] if unmeasured else near)
        if not unmeasured and len(near) <= _LISTED:
            return only(near)
        check = f"({_IS_NEAR} OR NOT {_HAS_VECTOR})" if unmeasured else _IS_NEAR
        return candidates.and_(Condition(check, (query.astype(np.float32).tobytes(), farthest)))

    def facts_within(self, connection: sqlite3.Connection, query: Vector, distance: float, most: int) -> list[int]:
        """Find the facts up to a cosine distance, not in order; some may be a little farther.

        Of more than `most`, some are left out.
        """
        there = overview(connection)
        are_few = there.counts["fact"] <= min(_FEW_FACTS, there.vectors // _FEW_AMONG)
        can_select = are_few and all(one.can_select for one in self._builder.segments)
        selected = np.unique(bulk.array(connection, _VECTORS_OF_FACTS, ())) if can_select else None
        found: list[int] = []
        batches, width = self.batches(connection, query, selected), _FIRST_WIDTH
        while (batch := batches.next(width)) is not None:
            found += batch.ids[batch.distances <= distance + batch.error].tolist()
            if batch.complete_up_to - batch.error > distance or len(found) >= most:
                break
            width *= 4
        return vector_rows.facts_of(connection, found, most)

    def batches(self, connection: sqlite3.Connection, query: Vector, selected: Ids | None = None) -> Batches:
        """Search in batches for the vectors nearest to a query, or for the nearest of the sorted ids `selected`.

        `selected` needs files that `can_select`. Vectors of another length than the query's are left out.
        """
        segments = self._builder.segments
        if any(one.dim != len(query) for one in segments):
            segments = ()
        newest = self._read_newest(connection, segments[-1].row.high if segments else 0, len(query))
        return Batches(connection, query, segments, newest, selected)

    @property
    def missing(self) -> str:
        """Say why a large collection has no index; empty if it has one or needs none."""
        if segment.available() or len(self._newest) < self._minimum:
            return ""
        return "usearch is not installed (pip install usearch); all vectors are compared one by one"

    def update(self) -> bool:
        """Put a few hundred vectors that the index lacks into a new file; return whether there is more to do.

        Call it until it returns False: then the index covers all it should.

        Raises:
            OSError: a file cannot be written.
            StorageError: the database cannot be read or written.
        """
        return self._builder.update()

    def flush(self) -> None:
        """Update the index until it is as it should be for the vectors that are there now."""
        self._builder.check_soon()
        while self.update():
            pass

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Hold updates back, so that vectors that are being deleted for good get into no file."""
        with self._builder.stopped():
            yield

    def vectors_of(
        self, connection: sqlite3.Connection, memory_ids: Collection[int], dim: int
    ) -> tuple[Sequence[int], Vectors]:
        """Read the vectors of some memories: which of them have one of this length, and these, unit length."""
        if self._in_ram(connection, len(memory_ids), None):
            found, at, newest = self._rows_of(connection, memory_ids, dim)
            return found.tolist(), newest.vectors[at]
        kept = vector_rows.of_memories(connection, memory_ids, codec.size(dim))
        return [memory_id for memory_id, _ in kept], codec.decode([blob for _, blob in kept], dim)

    def _in_ram(self, connection: sqlite3.Connection, ids: int, depth: int | None) -> bool:
        # Whether all vectors are in RAM, or so many of them are to be compared that they might as well be.
        if self._builder.segments:
            return False
        if len(self._newest):
            return True
        is_worthwhile = depth is not None and ids >= _WORTHWHILE * depth
        return is_worthwhile and overview(connection).vectors <= _WORTHWHILE * ids

    def _rows_of(
        self, connection: sqlite3.Connection, ids: Collection[int], dim: int
    ) -> tuple[Ids, npt.NDArray[np.intp], Rows]:
        # Those of some memories that have a vector of this length, and its row among all.
        newest = self._read_newest(connection, 0, dim)
        sql = f"SELECT mv.memory_id AS memory, mv.vector_id AS vector {_VECTORS_OF}"
        read = bulk.read(connection, sql, (json.dumps(list(ids)),), "memory", "vector")
        memory_ids, vector_ids = (np.array(column, np.int64) for column in read)
        at = np.searchsorted(newest.ids, vector_ids)
        is_here = np.append(newest.ids, 0)[at] == vector_ids
        return memory_ids[is_here], at[is_here], newest

    def _read_newest(self, connection: sqlite3.Connection, low: int, dim: int) -> Rows:
        with self._lock:
            return self._newest.after(connection, low, dim)

    def _selected(self, connection: sqlite3.Connection, candidates: Candidates, depth: int, vectors: int) -> Ids | None:
        # Sorted ids of the vectors to compare; None if it is quicker to look up the nearest. In a window of time the
        # vectors of some other memories are compared too.
        superset = candidates.superset
        if superset is None:
            return None
        segments = self._builder.segments
        cost = _SELECTION_COST if segments else _SELECTION_COST_BRUTE_FORCE
        if max(len(superset), 1) ** 2 > cost * depth * vectors or not all(one.can_select for one in segments):
            return None
        if len(superset) and superset[-1] - superset[0] < _DENSE * len(superset):
            sql = "SELECT vector_id AS id FROM memories_vec WHERE memory_id BETWEEN ? AND ?"
            return np.unique(bulk.array(connection, sql, (int(superset[0]), int(superset[-1]))))
        sql = f"SELECT mv.vector_id AS id {_VECTORS_OF}"
        return np.unique(bulk.array(connection, sql, (json.dumps(superset.tolist()),)))


def _ranking(memory_ids: Ids, distances: Distances, depth: int | None) -> Ranking:
    rounded = distances.astype(np.float64).round(DISTANCE_DIGITS)
    order = np.lexsort((-memory_ids, rounded))[:depth]
    return [Hit(*hit) for hit in zip(memory_ids[order].tolist(), rounded[order].tolist(), strict=True)]


def _preselected(connection: sqlite3.Connection, query: Vector, ids: Collection[int], depth: int) -> Collection[int]:
    # Those that may be among the nearest, as their upper bytes tell.
    dim = len(query)
    distances, memory_ids = bulk.read(
        connection,
        "SELECT coalesce(vec_distance_cosine(vec_int8(substr(v.embedding, 1, ?)), vec_int8(?)), 1.0) AS distance, "
        f"mv.memory_id AS memory {_VECTORS_OF} CROSS JOIN vectors AS v ON v.id = mv.vector_id "
        "WHERE length(v.embedding) = ?",
        (dim, codec.as_bytes(query[np.newaxis])[0].tobytes(), json.dumps(list(ids)), codec.size(dim)),
        "distance", "memory",
    )  # fmt: skip
    limit = sorted(distances)[depth - 1] + _SLACK if len(distances) > depth else math.inf
    return [memory_id for distance, memory_id in zip(distances, memory_ids, strict=True) if distance <= limit]
