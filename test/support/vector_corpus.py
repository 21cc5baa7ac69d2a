"""Vectors as texts have them: in clusters, some of them very near to each other."""

from __future__ import annotations

import numpy as np

from robotmem_ros.memory.embedding import Vectors

DIM = 48


def clustered(count: int, seed: int, *, dim: int = DIM, clusters: int = 60) -> Vectors:
    """Draw unit vectors around `clusters` centres; every tenth is nearly equal to the one before it."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((clusters, dim))
    vectors = centres[draw.integers(0, clusters, count)] + 0.7 * draw.standard_normal((count, dim))
    vectors[9::10] = vectors[8:-1:10] + 1e-3 * draw.standard_normal((len(vectors[9::10]), dim))
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
