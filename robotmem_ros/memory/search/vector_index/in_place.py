"""Search vectors where they lie in the file, by sqlite-vec, for a machine without RAM to spare."""

from __future__ import annotations

import numpy as np

from ...embedding import Vector
from ...storage import codec, vector_rows
from ...storage.candidates import Candidates
from ...storage.snapshot import Snapshot
from ..measures import Measures
from .exact import measure, to_measures

_SLACK = 0.02
"""Greatest error of two distances by upper bytes: a vector farther than the last hit by more is no hit.

Upper bytes are rounded, which puts a distance off by a standard deviation of 0.29 / |vector|, in units of the bytes:
4e-4 for vectors of the default model, 2e-3 at most, if one component outweighs all others.
"""
_SURPLUS = 64


def nearest_in_place(snapshot: Snapshot, query: Vector, candidates: Candidates, depth: int) -> Measures:
    """Find the `depth` candidates nearest in meaning: by upper bytes first, and the best of these exactly."""
    code = codec.as_bytes(query[np.newaxis])[0].tobytes()
    limit = depth + _SURPLUS
    while True:
        rows = vector_rows.nearest(snapshot, candidates.check, code, limit)
        if len(rows) < limit or rows[-1][2] > rows[depth - 1][2] + _SLACK:
            break
        limit *= 4
    return to_measures(*measure([row[:2] for row in rows], query)).rows(slice(depth))
