"""Measure and rank by the vectors as they are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...embedding import Vector
from ...storage import codec
from ...table.signs import Distances
from ..measures import Measures, cosines
from .blocks import Ids


def measure(kept_vectors: Sequence[tuple[int, bytes]], query: Vector) -> tuple[Ids, Distances]:
    """Compute the cosine distances of kept vectors, with their ids; skip those of another length than the query's."""
    size = codec.size(len(query))
    fitting = [(row_id, blob) for row_id, blob in kept_vectors if len(blob) == size]
    ids = np.array([row_id for row_id, _ in fitting], np.int64)
    return ids, codec.distances([blob for _, blob in fitting], query)


def to_measures(memory_ids: Ids, distances: Distances) -> Measures:
    """Return memories with their similarity, nearest first and equals newest first, by their cosine distances."""
    return Measures.of(memory_ids, cosine=cosines(distances)).nearest_first()
