"""The flat index: all vectors of a database, compared with each query.

Few candidates are compared alone. Otherwise all vectors are, as far as their upper bytes tell, and then looked up,
nearest first, until enough of them belong to candidates: that takes about (memories / candidates) vectors for each
wanted one. One of these costs about four times as much as one that is compared alone, so this is the quicker way when
candidates² > 4 * wanted * memories. The best are measured again by the vectors as they are kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence

import numpy as np

from ...embedding import Vector, Vectors
from ...storage import bulk, codec, vector_rows
from ...storage.overview import overview
from ...storage.snapshot import Snapshot
from ..candidates import Candidates, enumerate_if_few, filter_ids, only
from ..result import Ranking
from ..sql import Sql
from . import products
from .exact import measured, ranked
from .in_place import nearest_in_place
from .matrix import Ids, MatrixFollower
from .walk import MARGIN, NearestFirst, Walk

_LOOKUP_COST = 4
"""What it costs to look up a vector and to see which of its memories are candidates, over comparing one."""
_SELECTION_COST = 8
"""The same if sorted ids are known that contain the candidates, and only their vectors are compared."""
_DENSE = 2
"""To read a row that follows another one takes a third of what it takes to look one up."""
_WORTHWHILE = 4
"""If there are this many times as many as wanted, upper bytes first tell which may be the nearest."""
_LISTED = 200
"""How many similar memories are listed by id at most."""
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
_FACTS = Candidates((Sql("m.status = 'active'"), Sql("m.type = 'fact'")))


class VectorIndex:
    """The vectors of a database. Safe to use from several threads."""

    def __init__(self) -> None:
        self.matrix = MatrixFollower()

    def search(self, connection: Snapshot, query: Vector, candidates: Candidates, depth: int) -> Ranking:
        """Find the `depth` candidates nearest in meaning, by cosine distance (0 is the same, 2 the opposite).

        Raises:
            VectorsUnreadError: too many vectors are not in RAM yet.
        """
        if depth < 1:
            return []
        if candidates.ids is not None:
            return self.rank(connection, query, candidates.ids, depth)
        matrix = self.matrix.current(connection, len(query))
        if matrix is None:
            return nearest_in_place(connection, query, candidates, depth)
        memories, width = overview(connection).vectors, 2 * depth + 16
        selected = _selected(connection, candidates, depth, memories)
        if selected is None:
            candidates = enumerate_if_few(connection, candidates, math.isqrt(_LOOKUP_COST * depth * memories))
            if candidates.ids is not None:
                return self.rank(connection, query, candidates.ids, depth)
            if candidates.superset is not None:
                # As many as it takes if the memories that the narrowest condition allows are spread evenly.
                width = int(MARGIN * memories / max(len(candidates.superset), 1) * (depth + 16))
        compared = matrix.distances(query) if selected is None else matrix.distances_of(query, selected)
        vectors = NearestFirst(*compared, matrix.error(query))
        return Walk(connection, query, candidates, depth).through(vectors, width)

    def rank(self, connection: Snapshot, query: Vector, ids: Collection[int], depth: int | None = None) -> Ranking:
        """Rank some memories by exact distance, the `depth` nearest or all that have a vector."""
        if depth is not None and len(ids) >= _WORTHWHILE * depth:
            ids = self._preselected(connection, query, ids, depth)
        pairs = connection.rows(
            f"SELECT mv.memory_id, v.embedding {_VECTORS_OF} CROSS JOIN vectors AS v ON v.id = mv.vector_id",
            (json.dumps(list(ids)),),
        )
        memory_ids, distances = measured(pairs, query)
        return ranked(memory_ids, distances, depth)

    def similar(
        self,
        connection: Snapshot,
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
            others = candidates.and_(Sql(f"NOT {_HAS_VECTOR}"))
            return only([*near, *filter_ids(connection, others, candidates.ids)] if unmeasured else near)
        if not unmeasured and len(near) <= _LISTED:
            return only(near)
        check = f"({_IS_NEAR} OR NOT {_HAS_VECTOR})" if unmeasured else _IS_NEAR
        return candidates.and_(Sql(check, (query.astype(np.float32).tobytes(), farthest)))

    def facts_within(self, connection: Snapshot, query: Vector, distance: float, most: int) -> list[int]:
        """Find the facts up to a cosine distance, not in order; some may be a little farther.

        Of more than `most`, some are left out.

        Raises:
            VectorsUnreadError: too many vectors are not in RAM yet.
        """
        matrix = self.matrix.current(connection, len(query))
        if matrix is None:
            hits = nearest_in_place(connection, query, _FACTS, most)
            return [hit.memory_id for hit in hits if hit.measure <= distance]
        ids, distances = matrix.distances(query)
        near = ids[distances <= distance + matrix.error(query)]
        if len(near) > overview(connection).counts["fact"]:
            near = np.intersect1d(near, bulk.array(connection, _VECTORS_OF_FACTS, ()))
        return vector_rows.facts_of(connection, near.tolist(), most)

    def vectors_of(self, connection: Snapshot, memory_ids: Collection[int], dim: int) -> tuple[Sequence[int], Vectors]:
        """Read the vectors of some memories: which of them have one of this length, and these, unit length."""
        kept = vector_rows.of_memories(connection, memory_ids, codec.size(dim))
        return [memory_id for memory_id, _ in kept], codec.decode([blob for _, blob in kept], dim)

    @property
    def missing(self) -> str:
        """Say what makes the search slower than it could be; empty if nothing does."""
        return "; ".join(filter(None, (self.matrix.no_room, "" if products.HAS_NUMKONG else products.MISSING)))

    def _preselected(self, connection: Snapshot, query: Vector, ids: Collection[int], depth: int) -> Collection[int]:
        # Those that may be among the nearest, as their upper bytes tell.
        matrix = self.matrix.current(connection, len(query))
        if matrix is None:
            return ids
        sql = f"SELECT mv.memory_id AS memory, mv.vector_id AS vector {_VECTORS_OF}"
        columns = bulk.read(connection, sql, (json.dumps(list(ids)),), "memory", "vector")
        memory_ids, vector_ids = (np.array(column, np.int64) for column in columns)
        there, distances = matrix.distances_of(query, np.unique(vector_ids))
        if len(memory_ids) <= depth or not len(there):
            return ids
        at = np.minimum(np.searchsorted(there, vector_ids), len(there) - 1)
        near = np.where(there[at] == vector_ids, distances[at], np.inf)
        limit = float(np.partition(near, depth - 1)[depth - 1]) + 2 * matrix.error(query)
        return [*map(int, memory_ids[near <= limit])]


def _selected(connection: Snapshot, candidates: Candidates, depth: int, vectors: int) -> Ids | None:
    # Sorted ids of the vectors to compare; None if it is quicker to compare all. In a window of time the vectors of
    # some other memories are compared too.
    superset = candidates.superset
    if superset is None or max(len(superset), 1) ** 2 > _SELECTION_COST * depth * vectors:
        return None
    if len(superset) and superset[-1] - superset[0] < _DENSE * len(superset):
        sql = "SELECT vector_id AS id FROM memories_vec WHERE memory_id BETWEEN ? AND ?"
        return np.unique(bulk.array(connection, sql, (int(superset[0]), int(superset[-1]))))
    sql = f"SELECT mv.vector_id AS id {_VECTORS_OF}"
    return np.unique(bulk.array(connection, sql, (json.dumps(superset.tolist()),)))
