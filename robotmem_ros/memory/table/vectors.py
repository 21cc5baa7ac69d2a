"""The vectors of all rows as signed bytes, in blocks: 384 bytes for one of 384 components, and its scale.

A vector is held once, however many rows have it, and those that no row has any more stay until all are read again.
Where too little RAM is free, none is held, and they are compared where they lie in the file.

Scalar products are computed by numkong, which picks the kernel of this processor, else by numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from ..errors import RobotMemoryError
from ..heap import available_bytes
from ..models import Vector
from ..storage import codec, vector_rows
from ..storage.codec import Bytes
from ..storage.snapshot import Snapshot
from .column import Numbers

Products = npt.NDArray[np.float32]
_PIECE = 2048
"""Rows that numpy converts at once, so that they stay in the cache."""
HAS_NUMKONG = find_spec("numkong") is not None
NUMKONG_MISSING = "numkong is not installed (pip install numkong); vectors are compared by numpy, four times as slowly"


def products(rows: Bytes, query: Bytes) -> Products:
    """Multiply each of some rows, shape (n, dim), by a query, shape (dim,). Releases Python's lock."""
    if not len(rows):
        return np.empty(0, np.float32)
    if HAS_NUMKONG:
        import numkong

        numbers: Products = np.asarray(numkong.cdist(query[np.newaxis], rows, metric="dot"))[0].astype(np.float32)
        return numbers
    wide = query.astype(np.float32)
    pieces = (rows[first : first + _PIECE].astype(np.float32) for first in range(0, len(rows), _PIECE))
    # Not `@`: BLAS would use all cores, and its threads stand in the way of the model's.
    return np.concatenate([np.einsum("ij,j->i", piece, wide) for piece in pieces])


ROWS = 32_768
"""Vectors in a block: 13 MB for 384 components, of which what it does not use takes no RAM but a large page."""
_SPARE = 256 * 1024 * 1024
"""Bytes of RAM that are left to the other programs."""
_DEVIATIONS, _ROUNDED = 6.0, 0.289
"""Rounding to whole numbers moves each component by this standard deviation, in units of the bytes: 1 / sqrt(12)."""

Places = npt.NDArray[np.intp]
Scales = npt.NDArray[np.float32]
Similarities = npt.NDArray[np.float32]
"""Cosines; minus infinity where there is no vector of this length."""
Compare = Callable[[Vector], Similarities]
"""Compares some texts, in their order, with a query."""


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
    """Vectors of one length, by the places where those of a text stand: a reader knows how many there are for it.

    A text is as near to a query as the nearest of its parts.
    """

    def __init__(self, dim: int, no_room: str = "") -> None:
        self.dim = dim
        self.no_room = no_room
        """Why none is held in RAM; empty if they are."""
        self._blocks: list[_Block] = []
        self._ends: Numbers | None = None
        """By places, behind which of all rows the parts of a text end; None while each text has one."""
        self._coarsest = 0.0
        self._has_zeros = False

    def with_room(self, first: int, rows: int) -> Vectors:
        """Return vectors with room for rows behind the first texts: these, or in scarce RAM others that hold none."""
        blocks = -(-(self._start(first) + rows) // ROWS) - len(self._blocks)
        no_room = "" if self.no_room or blocks <= 0 else _no_room(blocks * ROWS * self.dim)
        if not no_room:
            return self
        vectors = Vectors(self.dim, no_room)
        vectors._coarsest = self._coarsest
        return vectors

    def put(self, first: int, rows: Bytes, counts: Sequence[int]) -> None:
        """Put rows of texts, so many of each, behind the first ones, where no reader looks; what stood there goes."""
        if self.no_room:
            self._coarsest = max(self._coarsest, float(codec.scales(rows).max()))
            return
        start = self._start(first)
        if self._ends is None and len(rows) > len(counts):
            before = np.arange(first)
            self._ends = Numbers.of(np.int32).put(before, before + 1, first, shared=False)
        if self._ends is not None:
            size = first + len(counts)
            self._ends = self._ends.put(np.arange(first, size), start + np.cumsum(counts), size, shared=False)
        while len(rows):
            number, at = divmod(start, ROWS)
            if number == len(self._blocks):
                self._blocks.append(_Block(self.dim))
            count = self._blocks[number].put(at, rows)
            scales = self._blocks[number].scales[at : at + count]
            self._coarsest = max(self._coarsest, float(scales.max()))
            self._has_zeros = self._has_zeros or not scales.all()
            rows, start = rows[count:], start + count

    def error(self, query: Vector) -> float:
        """Return the greatest error of a similarity, since components are rounded: six standard deviations."""
        return _DEVIATIONS * _ROUNDED * math.hypot(_coded(query)[1], self._coarsest)

    def similarities(self, query: Vector, size: int) -> Similarities:
        """Compare the texts at the first `size` places with a query. Releases Python's lock."""
        code, scale = _coded(query)
        similarities = np.empty(self._start(size), np.float32)
        for first, block in zip(range(0, len(similarities), ROWS), self._blocks, strict=False):
            part = similarities[first : first + ROWS]
            self._scale(products(block.rows[: len(part)], code), block.scales[: len(part)], scale, part)
        return similarities if self._ends is None else _nearest(similarities, np.diff(self._ends.all[:size], prepend=0))

    def comparison(self, places: Places) -> Compare:
        """Gather the texts at some places, ascending, to compare them with queries."""
        if self._ends is None:
            return partial(self._compare, *self._gathered(places))
        ends = self._ends.all
        starts = np.where(places > 0, ends[places - 1], 0)
        counts = ends[places] - starts
        first = np.cumsum(counts) - counts
        rows = self._gathered(np.arange(counts.sum()) + np.repeat(starts - first, counts))
        return lambda query: _nearest(self._compare(*rows, query), counts)

    def _start(self, place: int) -> int:
        # The row of the first part of a text.
        return place if self._ends is None or not place else int(self._ends.all[place - 1])

    def _gathered(self, numbers: Places) -> tuple[Bytes, Scales]:
        rows, scales = np.empty((len(numbers), self.dim), np.int8), np.empty(len(numbers), np.float32)
        bounds = np.searchsorted(numbers, np.arange(len(self._blocks) + 1) * ROWS)
        for block, first, last in zip(self._blocks, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if first == last:
                continue
            at = numbers[first:last] % ROWS
            # `clip` alone copies without a copy in between; no place is out of bounds.
            np.take(block.rows, at, axis=0, out=rows[first:last], mode="clip")
            np.take(block.scales, at, out=scales[first:last], mode="clip")
        return rows, scales

    def _compare(self, rows: Bytes, scales: Scales, query: Vector) -> Similarities:
        code, scale = _coded(query)
        similarities = np.empty(len(rows), np.float32)
        self._scale(products(rows, code), scales, scale, similarities)
        return similarities

    def _scale(self, dots: Products, scales: Scales, scale: float, result: Similarities) -> None:
        np.multiply(dots, scales, out=result)
        result *= np.float32(scale)
        if self._has_zeros:
            result[scales == 0] = -np.inf  # of another length


class VectorsInFile:
    """The same vectors compared where they lie in the file: by sqlite-vec, or numpy where it is missing.

    Args:
        ids: Their ids, by their places.
    """

    def __init__(self, vectors: Vectors, snapshot: Snapshot, ids: npt.NDArray[np.int64]) -> None:
        self.dim, self.error = vectors.dim, vectors.error
        self._snapshot, self._ids = snapshot, ids

    def similarities(self, query: Vector, size: int) -> Similarities:
        """Compare the texts at the first `size` places with a query.

        Raises:
            StorageError: the vectors cannot be read.
        """
        return self._compare(np.arange(size), query)

    def comparison(self, places: Places) -> Compare:
        """Return what compares the texts at some places, ascending, with queries; it raises the same."""
        return partial(self._compare, places)

    def _compare(self, places: Places, query: Vector) -> Similarities:
        code, similarities = _coded(query)[0].tobytes(), np.full(len(places), -np.inf, np.float32)
        for first in range(0, len(places), ROWS):
            ids = self._ids[places[first : first + ROWS]]
            if rows := vector_rows.similarities(self._snapshot, ids, code):
                found, cosines = zip(*rows, strict=True)
                similarities[first + np.searchsorted(ids, found)] = cosines
        return similarities


def _nearest(similarities: Similarities, counts: npt.NDArray[np.int32]) -> Similarities:
    # The greatest of each text, of which so many stand in a row, one at least.
    if len(similarities) == len(counts):
        return similarities
    nearest: Similarities = np.maximum.reduceat(similarities, np.cumsum(counts) - counts)
    return nearest


def _no_room(demand: int) -> str:
    free = available_bytes()
    if free is None or free >= demand + _SPARE:
        return ""
    return (
        f"too little RAM is free ({free >> 20} MB) to hold the vectors; they are compared where they lie in the file, "
        "which takes longer"
    )


def _coded(query: Vector) -> tuple[Bytes, float]:
    # Its bytes, and 1 / their length.
    code = codec.as_bytes(query[np.newaxis])
    return code[0], float(codec.scales(code)[0])
