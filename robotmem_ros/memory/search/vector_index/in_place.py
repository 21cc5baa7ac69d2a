"""Search vectors where they lie in the file, by sqlite-vec, for a machine without RAM to spare."""

from __future__ import annotations

import numpy as np

from ...embedding import Vector
from ...storage import codec
from ...storage.snapshot import Snapshot
from ..candidates import Candidates
from ..result import Ranking
from .exact import measure, rank_by_distance

_SLACK = 0.02
"""Greatest error of two distances by upper bytes: a vector farther than the last hit by more is no hit.

Upper bytes are rounded, which puts a distance off by a standard deviation of 0.29 / |vector|, in units of the bytes:
4e-4 for vectors of the default model, 2e-3 at most, if one component outweighs all others.
"""
_SURPLUS = 64


def nearest_in_place(snapshot: Snapshot, query: Vector, candidates: Candidates, depth: int) -> Ranking:
    """Find the `depth` candidates nearest in meaning: by upper bytes first, and the best of these exactly."""
    check, dim = candidates.check, len(query)
    sql = (
        "SELECT mv.memory_id, v.embedding, "
        "coalesce(vec_distance_cosine(vec_int8(substr(v.embedding, 1, ?)), vec_int8(?)), 1.0) AS distance "
        "FROM memories AS m CROSS JOIN memories_vec AS mv ON mv.memory_id = m.id "
        f"CROSS JOIN vectors AS v ON v.id = mv.vector_id WHERE {check.sql} AND length(v.embedding) = ? "
        "ORDER BY distance, mv.memory_id DESC LIMIT ?"
    )
    code = codec.as_bytes(query[np.newaxis])[0].tobytes()
    limit = depth + _SURPLUS
    while True:
        rows = snapshot.rows(sql, (dim, code, *check.arguments, codec.size(dim), limit))
        if len(rows) < limit or rows[-1][2] > rows[depth - 1][2] + _SLACK:
            break
        limit *= 4
    return rank_by_distance(*measure([row[:2] for row in rows], query), depth)
