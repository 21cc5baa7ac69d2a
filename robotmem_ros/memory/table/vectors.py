"""The vectors of all rows as signed bytes, in blocks: 384 bytes for one of 384 components.

Full blocks have the signs of their vectors, too, 48 bytes each: among very many, those whose signs are most alike are
compared with a query. A vector is held once, however many rows have it, and those that no row has any more stay until
all are read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..models import Vector
from ..storage import codec
from ..storage.codec import Bytes
from .column import Mask, bound
from .products import products
from .signs import CAN_COUNT, Centre, Scales, Signs, centre_of, enough, signs_of

ROWS = 8192
"""Vectors in a block: 3 MB for 384 components; what it does not use takes no RAM."""
_PIECE = 1024
"""Vectors whose signs are found together."""
_SAMPLE = 16
"""Of every so many vectors one tells how alike the signs are of those that are most alike."""
_MANY = 1 << 18
"""Vectors from which on signs pay: they are chosen in half of the time that it takes to compare so many."""
_SURPLUS = 2
"""So many times as many as are wanted should be among those with the most alike signs."""
_FEW = 8
"""Vectors that are fewer than all by this factor are compared by themselves."""
_DEVIATIONS, _ROUNDED = 6.0, 0.289
"""Rounding to whole numbers moves each component by this standard deviation, in units of the bytes: 1 / sqrt(12)."""
_SPREAD = 2.0
"""Standard deviations from the mean within which nearly all are."""
_FARTHEST = 2**16 - 1

Places = npt.NDArray[np.intp]
Similarities = npt.NDArray[np.float32]


class Near(NamedTuple):
    """Vectors by their places, and how near they are to a query."""

    places: Places
    """Ascending."""
    similarities: Similarities
    """Cosines."""
    error: float
    """Greatest error of a similarity, since components are rounded: six standard deviations."""


class _Alike(NamedTuple):
    """Vectors with the most alike signs."""

    places: Places
    differing: npt.NDArray[np.uint16]
    """In how many signs each differs from the query; 0 for those without signs."""
    most: int
    """The same of the least alike."""


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
        self._centre: Centre | None = None
        self._signs: Signs = np.empty((-(-dim // 64), 0), np.uint64)
        """Shape (words, room): those of the first vectors, as many as `_signed`."""
        self._signed = 0

    def put(self, first: int, rows: Bytes) -> None:
        """Put vectors behind the first ones, where no reader looks; what stood there is lost."""
        self._signed = min(self._signed, first)
        while len(rows):
            number, at = divmod(first, ROWS)
            if number == len(self._blocks):
                self._blocks.append(_Block(self.dim))
            count = self._blocks[number].put(at, rows)
            rows, first = rows[count:], first + count
            if CAN_COUNT:
                self._sign(first)

    def near_of(self, query: Vector, places: Places) -> Near:
        """Compare the vectors at some places, ascending, with a query."""
        code = codec.as_bytes(query[np.newaxis])
        rows, scales = np.empty((len(places), self.dim), np.int8), np.empty(len(places), np.float32)
        bounds = np.searchsorted(places, np.arange(len(self._blocks) + 1) * ROWS)
        for block, first, last in zip(self._blocks, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            at = places[first:last] % ROWS
            # `clip` alone copies without a copy in between; no place is out of bounds.
            np.take(block.rows, at, axis=0, out=rows[first:last], mode="clip")
            np.take(block.scales, at, out=scales[first:last], mode="clip")
        return _compared(code, places, rows, scales)

    def near(self, query: Vector, wanted: Places | None, size: int, n: int) -> Near:
        """Compare the first `size` vectors, or those wanted of them, as far as they may be among the nearest `n`."""
        count = size if wanted is None else len(wanted)
        limit = enough(count, _SURPLUS * n) if size >= _MANY else None
        alike = self._alike(query, wanted, size, limit) if limit else None
        if alike is not None:
            near = self.near_of(query, alike.places)
            if _have_nearest(near, alike.differing, alike.most, n):
                return near
        if wanted is not None and _FEW * len(wanted) < size:
            return self.near_of(query, wanted)
        near = self._near_all(query, size)
        return near if wanted is None else Near(wanted, near.similarities[wanted], near.error)

    def _near_all(self, query: Vector, size: int) -> Near:
        code = codec.as_bytes(query[np.newaxis])
        parts = [_compared(code, np.empty(0, np.intp), *part) for part in self._first(size)]
        similarities = np.concatenate([np.empty(0, np.float32), *(part.similarities for part in parts)])
        return Near(np.arange(size), similarities, max((part.error for part in parts), default=0.0))

    def _alike(self, query: Vector, wanted: Places | None, size: int, count: int) -> _Alike | None:
        signed = min(self._signed, size)
        if self._centre is None or signed < _SAMPLE or count > signed:
            return None
        code = codec.as_bytes(query[np.newaxis])
        signs = signs_of(code, codec.scales(code), self._centre)
        differing = np.zeros(size, np.uint16)  # those without signs are compared whatever they are
        part = differing[:signed]
        for plane, word in zip(self._signs, signs[:, 0], strict=True):
            part += np.bitwise_count(plane[:signed] ^ word)
        among = differing if wanted is None else differing[wanted]
        sample = among[:: max(_SAMPLE * len(among) // signed, 1)]
        rank = count * len(sample) // len(among)
        most = int(np.partition(sample, rank)[rank])
        at = np.flatnonzero(among <= most)
        return _Alike(at if wanted is None else wanted[at], among[at], most)

    def _first(self, size: int) -> Iterator[tuple[Bytes, Scales]]:
        for number, block in enumerate(self._blocks):
            count = min(size - number * ROWS, ROWS)
            if count > 0:
                yield block.rows[:count], block.scales[:count]

    def _sign(self, size: int) -> None:
        # Signs of full pieces, from the first full block on, whose centre serves for all. They never change.
        if self._centre is None and size >= ROWS:
            self._centre = centre_of(self._blocks[0].rows, self._blocks[0].scales)
        last = size - size % min(_PIECE, ROWS) if self._centre is not None else 0
        if last > self._signs.shape[1]:
            signs = np.empty((len(self._signs), last + last // 8), np.uint64)
            signs[:, : self._signed] = self._signs[:, : self._signed]
            self._signs = signs
        while self._signed < last and self._centre is not None:
            number, at = divmod(self._signed, ROWS)
            end = min(ROWS, at + last - self._signed)
            block = self._blocks[number]
            of_block = signs_of(block.rows[at:end], block.scales[at:end], self._centre)
            self._signs[:, self._signed : self._signed + end - at] = of_block
            self._signed += end - at


def first_of(similarities: Similarities, n: int, error: float) -> Mask:
    """Tell which vectors may be among the nearest `n`, by similarities that may be wrong."""
    is_vector = similarities > -np.inf
    if len(similarities) <= n:
        return is_vector
    return np.asarray(is_vector & (similarities >= -bound(-similarities, n) - 2 * error))


def _have_nearest(near: Near, differing: npt.NDArray[np.uint16], most: int, n: int) -> bool:
    # Hardly any of the nearest is missing unless the signs of the nearest of these differ nearly as much as may be.
    if n >= len(near.places):
        return False
    numbers = differing[np.argpartition(-near.similarities, n)[:n]]
    return bool(numbers.mean() + _SPREAD * numbers.std() <= most)


def _compared(code: Bytes, places: Places, rows: Bytes, scales: Scales) -> Near:
    similarities = products(rows, code[0])
    scale = float(codec.scales(code)[0])
    similarities *= scales
    similarities *= scale
    if len(scales) and not scales.min():
        similarities[scales == 0] = -np.inf  # no vector of this length
    coarsest = float(scales.max(initial=0.0))
    return Near(places, similarities, _DEVIATIONS * _ROUNDED * math.hypot(scale, coarsest))
