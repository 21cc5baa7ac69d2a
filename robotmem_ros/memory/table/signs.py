"""Signs of vectors, a bit for each component: those of the nearest to a query are mostly like its own.

A bit says whether a component is above that of a centre; with none, vectors of texts that are all alike would have
nearly the same signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage.codec import Bytes

Signs = npt.NDArray[np.uint64]
"""Words of 64 signs, shape (words of a vector, vectors)."""
Scales = npt.NDArray[np.float32]
Centre = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]
Distances = npt.NDArray[np.float32]
CAN_COUNT = hasattr(np, "bitwise_count")
"""Whether this numpy counts bits, as 2.0 is the first to do."""
_WORD = 8
"""Bytes of a word."""
_PIECE = 1024
"""Vectors that are compared with the centre at once, so that they stay in the cache."""
_ALIKE = 2.0
"""Vectors that are alike enough, over the root of n times all vectors, to miss few of the nearest n.

Measured with texts: the number grows like this from 12,500 to 100,000 vectors, and for n from 10 to 200.
"""
_WORTHWHILE = 12
"""It pays if there are this many times as many vectors."""
_SPREAD = 2.0
"""Standard deviations from the mean within which nearly all are."""


class Alike(NamedTuple):
    """The vectors with the most alike signs."""

    places: Sequence[Positions]
    """In each block."""
    differing: npt.NDArray[np.uint16]
    """In how many signs each differs from the query, block after block."""
    most: int
    """The same of the least alike."""

    def have_nearest(self, n: int, distances: Distances) -> bool:
        """Tell whether hardly any of the nearest `n` vectors is missing, by the distances of these.

        If the signs of the nearest of these differ nearly as much as may be, others with more may be as near. Measured
        among 100,000 texts: of the nearest 10 none is missed, of 50 fewer than one in 1,000.
        """
        if n >= len(distances):
            return False
        numbers = self.differing[np.argpartition(distances, n)[:n]]
        return bool(numbers.mean() + _SPREAD * numbers.std() <= self.most)


def centre_of(rows: Bytes, scales: Scales) -> Centre:
    """Return the mean of vectors: the rows, shape (n, dim), times a scale each."""
    centre: Centre = np.einsum("ij,i->j", rows, scales, dtype=np.float32) / np.float32(len(rows))
    return centre


def signs_of(rows: Bytes, scales: Scales, centre: Centre) -> Signs:
    """Return the signs of vectors: the rows, shape (n, dim), times a scale each."""
    width = -(-rows.shape[1] // (8 * _WORD)) * _WORD
    packed = np.zeros((len(rows), width), np.uint8)
    for first in range(0, len(rows), _PIECE):
        piece = slice(first, first + _PIECE)
        bits = np.packbits(rows[piece] * scales[piece, np.newaxis] > centre, axis=1)
        packed[piece, : bits.shape[1]] = bits
    return np.ascontiguousarray(packed.view(np.uint64).T)


def enough(vectors: int, n: int) -> int | None:
    """Return how many with alike signs have nearly all of the nearest `n`; None if it is as quick to compare all."""
    count = int(_ALIKE * math.sqrt(vectors * n))
    return count if _WORTHWHILE * count <= vectors else None


def most_alike(blocks: Sequence[Signs], query: Signs, count: int) -> Alike:
    """Find the `count` vectors in blocks whose signs are most like those of a query, and all that are as much."""
    differing = [np.bitwise_count(block ^ query).sum(axis=0, dtype=np.uint16) for block in blocks]
    most = int(np.partition(np.concatenate(differing), count - 1)[count - 1])
    places = [np.flatnonzero(numbers <= most) for numbers in differing]
    chosen = [numbers[at] for numbers, at in zip(differing, places, strict=True)]
    return Alike(places, np.concatenate(chosen), most)
