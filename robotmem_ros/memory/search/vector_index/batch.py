"""What a search for near vectors gives: some of them, and how far it has seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float32]


class Batch(NamedTuple):
    """Vectors that were not given before, nearest first: their ids and their cosine distances."""

    ids: Ids
    distances: Distances
    complete_up_to: float
    """Nothing nearer than this is missing from this batch and those before it."""
    error: float
    """By how much a distance may be wrong; 0 where they were computed from the vectors as they are kept."""
