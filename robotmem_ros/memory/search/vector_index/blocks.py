"""Blocks of vectors as signed bytes, with their ids and scales, and the signs of those of full blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...embedding import Vector
from ...storage import codec
from ...storage.codec import Bytes
from ...table.products import products
from ...table.signs import Centre, Distances, Positions, Scales, Signs, centre_of, signs_of

Ids = npt.NDArray[np.int64]

ROWS = 8192
"""Rows of a block: 3 MB for 384 components; what it does not use takes no RAM."""


class Code(NamedTuple):
    """A query as signed bytes."""

    rows: Bytes
    """The only row, shape (1, dim)."""
    scales: Scales
    """1 / length of it, in units of the bytes."""

    @classmethod
    def of(cls, query: Vector) -> Code:
        """Convert a query, shape (dim,)."""
        rows = codec.as_bytes(query[np.newaxis])
        return cls(rows, codec.scales(rows))


class Block(NamedTuple):
    """Rows of vectors."""

    ids: Ids
    rows: Bytes
    scales: Scales
    """1 / length of each row, in units of the bytes; 0 masks it."""
    signs: Signs | None = None
    """None for some rows of a block, and while it has room."""

    def distances(self, query: Code) -> Distances:
        """Compute the cosine distance of each row to a query; infinity for a masked one."""
        distances = products(self.rows, query.rows[0])
        distances *= self.scales
        distances *= -query.scales
        distances += np.float32(1.0)
        distances[self.scales == 0] = np.inf
        return distances


def gather(parts: Iterable[tuple[Block, Positions]], dim: int) -> Block:
    """Copy the rows of blocks at some positions into one block, in this order."""
    parts = [*parts]
    count, start = sum(len(places) for _, places in parts), 0
    gathered = Block(np.empty(count, np.int64), np.empty((count, dim), np.int8), np.empty(count, np.float32))
    for block, places in parts:
        place = slice(start, start := start + len(places))
        # `clip` alone copies without a copy in between; no position is out of bounds.
        np.take(block.ids, places, out=gathered.ids[place], mode="clip")
        np.take(block.rows, places, axis=0, out=gathered.rows[place], mode="clip")
        np.take(block.scales, places, out=gathered.scales[place], mode="clip")
    return gathered


@dataclass
class GrowingBlock:
    """Room for the rows of a block; rows behind `size` are added, those before it never change."""

    dim: int
    size: int = 0
    masked: int = 0
    signs: Signs | None = None
    centre: Centre | None = None
    """Centre of its vectors; None if there is no use for it yet."""
    _ids: Ids = field(default_factory=lambda: np.empty(ROWS, np.int64))
    _scales: Scales = field(default_factory=lambda: np.empty(ROWS, np.float32))
    _rows: Bytes = field(init=False)

    def __post_init__(self) -> None:
        self._rows = np.empty((ROWS, self.dim), np.int8)

    @property
    def room(self) -> int:
        """Number of rows that can still be added."""
        return ROWS - self.size

    def append(self, ids: Ids, rows: Bytes) -> int:
        """Add the first of some rows, as many as there is room for, and return how many these are."""
        count = min(len(ids), self.room)
        place = slice(self.size, self.size + count)
        self._ids[place], self._rows[place] = ids[:count], rows[:count]
        self._scales[place] = codec.scales(rows[:count])
        self.size += count
        return count

    def sign(self, first: GrowingBlock) -> None:
        """Find the signs of a full block; the centre of the first one serves for all."""
        if first.centre is None:
            first.centre = centre_of(first._rows, first._scales)
        self.signs = signs_of(self._rows, self._scales, first.centre)

    def mask(self, kept_ids: Ids) -> None:
        """Mask the rows whose ids are not among some sorted ids; views that were given out do not change."""
        is_gone = ~np.isin(self._ids[: self.size], kept_ids, assume_unique=True)
        self.masked = int(is_gone.sum())
        self._scales = self._scales.copy()
        self._scales[: self.size][is_gone] = 0.0

    def view(self) -> Block:
        """Return the rows that are there now."""
        return Block(self._ids[: self.size], self._rows[: self.size], self._scales[: self.size], self.signs)
