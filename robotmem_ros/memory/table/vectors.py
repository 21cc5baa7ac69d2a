"""The vectors of all rows as signed bytes, in blocks: 384 bytes for one of 384 components, and its scale.

A vector is held once, however many rows have it, and those that no row has any more stay until all are read again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..errors import RobotMemoryError
from ..models import Vector
from ..storage import codec
from ..storage.codec import Bytes
from .products import Products, products

ROWS = 8192
"""Vectors in a block: 3 MB for 384 components; what it does not use takes no RAM."""
_DEVIATIONS, _ROUNDED = 6.0, 0.289
"""Rounding to whole numbers moves each component by this standard deviation, in units of the bytes: 1 / sqrt(12)."""

Places = npt.NDArray[np.intp]
Scales = npt.NDArray[np.float32]
Similarities = npt.NDArray[np.float32]
"""Cosines; minus infinity where there is no vector of this length."""


class VectorsUnreadError(RobotMemoryError):
    """So many vectors are not in RAM yet that a query would have to wait for them."""

    def __init__(self, rows: int, unread: int) -> None:
        super().__init__(
            f"vectors are still being read into RAM, {rows} of {rows + unread} so far; until then words alone find"
        )


@dataclass
class _Block:
    """Room for vectors."""

    dim: int
    rows: Bytes = field(init=False)
    scales: Scales = field(default_factory=lambda: np.empty(ROWS, np.float32))

    def __post_init__(self) -> None:
        self.rows = np.empty((ROWS, self.dim), np.int8)

    def put(self, first: int, rows: Bytes) -> int:
        """Put the first of some vectors behind `first` others, as many as there is room for; return how many."""
        count = min(len(rows), ROWS - first)
        place = slice(first, first + count)
        self.rows[place], self.scales[place] = rows[:count], codec.scales(rows[:count])
        return count


class Vectors:
    """Vectors of one length, by the places where they stand: a reader knows how many there are for it."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._blocks: list[_Block] = []
        self._coarsest = 0.0
        self._has_zeros = False

    def put(self, first: int, rows: Bytes) -> None:
        """Put vectors behind the first ones, where no reader looks; what stood there is lost."""
        while len(rows):
            number, at = divmod(first, ROWS)
            if number == len(self._blocks):
                self._blocks.append(_Block(self.dim))
            count = self._blocks[number].put(at, rows)
            scales = self._blocks[number].scales[at : at + count]
            self._coarsest = max(self._coarsest, float(scales.max()))
            self._has_zeros = self._has_zeros or not scales.all()
            rows, first = rows[count:], first + count

    def error(self, query: Vector) -> float:
        """Return the greatest error of a similarity, since components are rounded: six standard deviations."""
        return _DEVIATIONS * _ROUNDED * math.hypot(_coded(query)[1], self._coarsest)

    def similarities(self, query: Vector, size: int) -> Similarities:
        """Compare the first `size` vectors with a query. Releases Python's lock."""
        code, scale = _coded(query)
        similarities = np.empty(size, np.float32)
        for number, block in enumerate(self._blocks[: -(-size // ROWS)]):
            part = similarities[number * ROWS : (number + 1) * ROWS]
            self._scale(products(block.rows[: len(part)], code), block.scales[: len(part)], scale, part)
        return similarities

    def similarities_of(self, query: Vector, places: Places) -> Similarities:
        """Compare the vectors at some places, ascending, with a query."""
        code, scale = _coded(query)
        rows, scales = np.empty((len(places), self.dim), np.int8), np.empty(len(places), np.float32)
        bounds = np.searchsorted(places, np.arange(len(self._blocks) + 1) * ROWS)
        for block, first, last in zip(self._blocks, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            at = places[first:last] % ROWS
            # `clip` alone copies without a copy in between; no place is out of bounds.
            np.take(block.rows, at, axis=0, out=rows[first:last], mode="clip")
            np.take(block.scales, at, out=scales[first:last], mode="clip")
        similarities = np.empty(len(places), np.float32)
        self._scale(products(rows, code), scales, scale, similarities)
        return similarities

    def _scale(self, dots: Products, scales: Scales, scale: float, result: Similarities) -> None:
        np.multiply(dots, scales, out=result)
        result *= np.float32(scale)
        if self._has_zeros:
            result[scales == 0] = -np.inf  # of another length


def _coded(query: Vector) -> tuple[Bytes, float]:
    # Its bytes, and 1 / their length.
    code = codec.as_bytes(query[np.newaxis])
    return code[0], float(codec.scales(code)[0])
