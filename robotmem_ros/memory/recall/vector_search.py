"""Stage 3b, vector search: cosine distance of the embeddings, exact, among the eligible memories.

Few eligible memories are compared one by one in SQL (sqlite-vec). Otherwise the matrix in RAM ranks all, and the
database says of the nearest which are eligible, until there are enough.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator

from ..embedding import Vector
from .eligible import Eligible
from .ranking import Hit, Ranking
from .vector_matrix import VectorMatrix

# Rounded, so that equal texts tie whatever the order of summation.
_DISTANCE = "round(vec_distance_cosine(v.embedding, ?), 6)"
_ROUNDING = 2e-6


def vector_search(
    connection: sqlite3.Connection, matrix: VectorMatrix, query: Vector, eligible: Eligible, depth: int
) -> Ranking:
    """The `depth` eligible memories nearest in meaning, by cosine distance (0 is the same, 2 the opposite)."""
    hits: Ranking = []
    for hits, seen_up_to in _growing(connection, matrix, query, eligible, depth):
        if len(hits) >= depth > 0 and hits[depth - 1].measure < seen_up_to - _ROUNDING:
            break
    return hits[:depth]


def similar(
    connection: sqlite3.Connection, matrix: VectorMatrix, query: Vector, eligible: Eligible, margin: float
) -> Ranking:
    """The eligible memories whose cosine distance is at most `margin` above that of the nearest one."""
    hits: Ranking = []
    for hits, seen_up_to in _growing(connection, matrix, query, eligible, 100):
        if hits and hits[0].measure + margin < seen_up_to - _ROUNDING:
            break
    return [hit for hit in hits if hit.measure <= hits[0].measure + margin]


def _growing(
    connection: sqlite3.Connection, matrix: VectorMatrix, query: Vector, eligible: Eligible, first: int
) -> Iterator[tuple[Ranking, float]]:
    # Ever more hits, best first, and the distance up to which none is missing.
    if eligible.ids is not None:
        yield _measured(connection, query, eligible, "v.memory_id", eligible.ids), math.inf
        return
    hits: Ranking = []
    for vector_ids, seen_up_to in matrix.ranked(connection, query, 2 * first):
        hits += _measured(connection, query, eligible, "v.id", vector_ids)
        hits.sort(key=lambda hit: (hit.measure, -hit.memory_id))
        yield hits, seen_up_to


def _measured(
    connection: sqlite3.Connection, query: Vector, eligible: Eligible, column: str, ids: list[int] | tuple[int, ...]
) -> Ranking:
    check = eligible.check()
    rows = connection.execute(
        f"SELECT m.id, {_DISTANCE} AS distance "
        f"FROM json_each(?) AS j CROSS JOIN memories_vec AS v ON {column} = j.value "
        f"CROSS JOIN memories AS m ON m.id = v.memory_id WHERE length(v.embedding) = ? AND {check.sql} "
        "ORDER BY distance, m.id DESC",
        (query.tobytes(), json.dumps(ids), query.nbytes, *check.arguments),
    )
    return [Hit(memory_id, distance) for memory_id, distance in rows]
