"""What the searches measured of memories, as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Scores = dict[int, float]
"""Score by memory id, higher is better."""
Floats = npt.NDArray[np.float64]
_DIGITS = 6


def cosines(distances: npt.NDArray[np.floating]) -> Floats:
    """Convert cosine distances, rounded to six digits, so that equal ones tie whatever the order of summation."""
    similarities: Floats = 1.0 - distances.astype(np.float64).round(_DIGITS)
    return similarities


class Measures(NamedTuple):
    """What searches measured of memories, each of these once."""

    ids: npt.NDArray[np.int64]
    """Best first if one search found them, else ascending."""
    bm25: Floats
    """0 if a memory contains no word of the query."""
    cosine: Floats
    """Similarity to the query; NaN without a vector."""
    words: npt.NDArray[np.bool_]
    """Whether a memory, by row, contains a word of the query, by column; no columns if no text was searched."""

    @classmethod
    def of(
        cls,
        ids: Sequence[int] | npt.NDArray[np.int64],
        bm25: Floats | None = None,
        cosine: Floats | None = None,
        words: npt.NDArray[np.bool_] | None = None,
    ) -> Measures:
        """Return memories with what was measured of them."""
        return cls(
            np.asarray(ids, np.int64),
            np.zeros(len(ids)) if bm25 is None else bm25,
            np.full(len(ids), math.nan) if cosine is None else cosine,
            np.zeros((len(ids), 0), bool) if words is None else words,
        )

    def rows(self, positions: npt.NDArray[np.intp] | slice) -> Measures:
        """Return those that stand at some positions."""
        return Measures(self.ids[positions], self.bm25[positions], self.cosine[positions], self.words[positions])

    def join(self, addition: Measures) -> Measures:
        """Return these memories and others, and of those in both what either of them knows."""
        ids = np.union1d(self.ids, addition.ids)
        columns = max(self.words.shape[1], addition.words.shape[1])
        measures = Measures.of(ids, words=np.zeros((len(ids), columns), bool))
        for part in (self, addition):
            rows = np.searchsorted(ids, part.ids)
            measures.bm25[rows] = np.maximum(measures.bm25[rows], part.bm25)
            measures.cosine[rows] = np.fmax(measures.cosine[rows], part.cosine)
            measures.words[rows, : part.words.shape[1]] |= part.words
        return measures

    def by_id(self, values: Floats) -> Scores:
        """Return a value of each memory by its id."""
        return dict(zip(self.ids.tolist(), values.tolist(), strict=True))
