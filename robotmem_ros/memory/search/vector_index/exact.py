"""Measure and rank by the vectors as they are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...embedding import Vector
from ...storage import codec
from ..result import DISTANCE_DIGITS, Measurement, Ranking
from .blocks import Ids
from .signs import Distances


def measure(kept_vectors: Sequence[tuple[int, bytes]], query: Vector) -> tuple[Ids, Distances]:
    """Compute the cosine distances of kept vectors, with their ids; skip those of another length than the query's."""
    size = codec.size(len(query))
    fitting = [(row_id, blob) for row_id, blob in kept_vectors if len(blob) == size]
    ids = np.array([row_id for row_id, _ in fitting], np.int64)
    return ids, codec.distances([blob for _, blob in fitting], query)


def rank_by_distance(memory_ids: Ids, distances: Distances, depth: int | None) -> Ranking:
    """Rank memories by distance, equals newest first: the `depth` nearest, or all."""
    rounded = distances.astype(np.float64).round(DISTANCE_DIGITS)
    order = np.lexsort((-memory_ids, rounded))[:depth]
    return [Measurement(*hit) for hit in zip(memory_ids[order].tolist(), rounded[order].tolist(), strict=True)]
