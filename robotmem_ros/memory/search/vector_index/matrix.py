"""All vectors of a database in RAM, as signed bytes, in blocks of rows: 384 bytes for one of 384 components.

Full blocks have the signs of their vectors, too, 48 bytes each: among very many, those whose signs are most alike are
compared with a query.

A row whose id is still in the database is the right one, and what is newer than the last row is read by whoever
searches. A row that is gone from the database costs a lookup, never a wrong result; maintenance masks such rows, and
packs the blocks when half are gone.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...embedding import Vector
from ...errors import RobotMemoryError
from ...storage import codec, vector_rows
from ...storage.codec import Bytes
from ...storage.followers import Place
from ...storage.overview import overview
from ...storage.snapshot import Snapshot
from .products import products
from .room import available_bytes
from .signs import CAN_COUNT, Alike, Centre, Positions, Signs, centre_of, enough, most_alike, signs_of

Ids = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float32]

_ROWS = 8192
"""Rows of a block: 3 MB for 384 components; what it does not use takes no RAM."""
_PIECE = 8192
"""Vectors that are read at once: some 10 ms."""
_AT_ONCE = 50_000
"""Up to so many vectors are read by a search that misses them, in some 60 ms; more by maintenance."""
_SPARE = 256 * 1024 * 1024
"""Bytes of RAM that are left to the other programs."""
_DEVIATIONS, _ROUNDED = 6.0, 0.289
"""Rounding to whole numbers moves each component by this standard deviation, in units of the bytes: 1 / sqrt(12)."""


class VectorsUnreadError(RobotMemoryError):
    """So many vectors are not in RAM yet that a query would have to wait for them."""

    def __init__(self, rows: int, unread: int) -> None:
        super().__init__(
            f"vectors are still being read into RAM, {rows} of {rows + unread} so far; until then words alone find"
        )


class Block(NamedTuple):
    """Consecutive rows of the matrix, in the order of their ids."""

    ids: Ids
    rows: Bytes
    scales: npt.NDArray[np.float32]
    """1 / length of each row, in units of the bytes; 0 masks it."""
    signs: Signs | None = None
    """None for some rows of a block, and while it has room."""

    def at(self, places: Positions) -> Block:
        """Return some of the rows."""
        return Block(self.ids[places], self.rows[places], self.scales[places])


class Near(NamedTuple):
    """Vectors, ascending by id, and how near they are to a query."""

    ids: Ids
    distances: Distances
    """Cosine distances."""
    error: float
    """Greatest error of a distance, since components are rounded: six standard deviations."""


@dataclass(frozen=True)
class Matrix:
    """The rows as they were at one moment; later changes do not show."""

    blocks: Sequence[Block]
    centre: Centre | None = None
    """Centre of all signs; None if there are none."""
    threads: Executor | None = None
    """One of them compares blocks, too, if there are many: RAM is read faster by two cores than by one."""

    def __len__(self) -> int:
        return sum(len(block.ids) for block in self.blocks)

    def near(self, query: Vector) -> Near:
        """Compare all vectors with a query."""
        return self._compared(query, self.blocks)

    def near_of(self, query: Vector, ids: Ids) -> Near:
        """Compare those of some sorted ids alone; ids that are not here are left out."""
        return self._compared(query, [*self._rows_of(ids)])

    def alike(self, query: Vector, n: int) -> tuple[Near, Alike | None]:
        """Compare the vectors that may be among the nearest `n`: of very many, those whose signs are alike.

        They come first in the result. None says that all were compared.
        """
        signs = [block.signs for block in self.blocks[:-1] if block.signs is not None]
        count = enough(len(self), n)
        if count is None or self.centre is None or not signs or len(signs) < len(self.blocks) - 1:
            return self.near(query), None
        code = codec.as_bytes(query[np.newaxis])
        alike = most_alike(signs, signs_of(code, codec.scales(code), self.centre), count)
        parts = [block.at(places) for block, places in zip(self.blocks, alike.places, strict=False)]
        return self._compared(query, [*parts, self.blocks[-1]]), alike

    def _compared(self, query: Vector, parts: Sequence[Block]) -> Near:
        code = codec.as_bytes(query[np.newaxis])
        scale = float(codec.scales(code)[0])
        ids = np.concatenate([np.empty(0, np.int64), *(part.ids for part in parts)])
        distances = np.concatenate([np.empty(0, np.float32), *self._distances(parts, code[0], scale)])
        coarsest = max((float(part.scales.max()) for part in parts if len(part.ids)), default=0.0)
        return Near(ids, distances, _DEVIATIONS * _ROUNDED * math.hypot(scale, coarsest))

    def _distances(self, parts: Sequence[Block], code: Bytes, scale: float) -> list[Distances]:
        left, done = deque(range(len(parts))), {}

        def work() -> None:
            with suppress(IndexError):
                while True:
                    at = left.popleft()
                    done[at] = _distances(parts[at], code, scale)

        if self.threads is not None and sum(len(part.ids) for part in parts) > 2 * _ROWS:
            with suppress(RuntimeError):  # the memory may be closed, or the main thread have ended
                self.threads.submit(work)
        work()
        # Nobody waits for the other thread: it may have to wait for a core.
        return [done[at] if at in done else _distances(part, code, scale) for at, part in enumerate(parts)]

    def _rows_of(self, ids: Ids) -> Iterator[Block]:
        for block in self.blocks:
            low, high = np.searchsorted(ids, (block.ids[0], block.ids[-1] + 1))
            if low < high:
                at = np.searchsorted(block.ids, ids[low:high])
                at = at[block.ids[at] == ids[low:high]]
                yield block.at(at)


class MatrixFollower:
    """Keeps the matrix in step with the vectors of a database, for searches with `threads`. Thread-safe."""

    name = "read vectors"

    def __init__(self, threads: Executor | None = None) -> None:
        self._threads = threads
        self.progress = Place()
        self._lock = threading.Lock()
        self._blocks: list[_GrowingBlock] = []
        self._dim = 0
        self._model: str | None = None
        self.no_room = ""
        """Why the vectors are not in RAM; empty if they may be."""

    def current(self, snapshot: Snapshot, dim: int) -> Matrix | None:
        """Return the vectors of this length that a snapshot sees, or more; None without room in RAM.

        Raises:
            VectorsUnreadError: too many are not read yet.
        """
        with self._lock:
            self._begin(snapshot, dim)
            newest = vector_rows.newest(snapshot)
            unread = self._count_unread(newest)
            if unread > _AT_ONCE and not self.no_room:
                raise VectorsUnreadError(self._count(), unread)
            while unread and not self.no_room and self._read(snapshot, newest):
                pass
            blocks = [block.view() for block in self._blocks]
            return None if self.no_room else Matrix(blocks, self._centre, self._threads)

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Read a few thousand vectors that the matrix lacks, or mask those that are gone."""
        with self._lock:
            self._begin(snapshot)
            if self._count_unread(place.vector) and not self.no_room and self._read(snapshot, place.vector):
                return True
            # A vector goes with the last memory of its text. A search may have read newer ones than this place has.
            if place.revision != self.progress.revision and place.vector >= self.progress.vector and not self.no_room:
                if vector_rows.count_all(snapshot) != self._count(masked=False):
                    self._keep(vector_rows.all_ids(snapshot))
                self.progress = self.progress._replace(revision=place.revision)
            return self._sign()

    @property
    def _centre(self) -> Centre | None:
        return self._blocks[0].centre if self._blocks else None

    def _begin(self, snapshot: Snapshot, dim: int = 0) -> None:
        # The length that queries have is the right one; what stands in the file may be anything.
        model = overview(snapshot).model
        if not dim:
            dim = self._dim if model == self._model else 0
        dim = dim or vector_rows.dimension(snapshot)
        if (model, dim) != (self._model, self._dim):
            self._blocks, self._model, self._dim, self.progress = [], model, dim, Place()

    def _count_unread(self, newest: int) -> int:
        # How many vectors are not read yet, at most. Those for which there is no room make room for other programs.
        unread = max(newest - self.progress.vector, 0)
        if unread and (not self._blocks or self._blocks[-1].room < unread):
            self.no_room = _no_room(unread * self._dim)
            if self.no_room:
                self._blocks, self.progress = [], Place()
        return unread

    def _read(self, snapshot: Snapshot, newest: int) -> bool:
        # Returns whether there may be more to read.
        rows = vector_rows.after(snapshot, self.progress.vector, _PIECE)
        if rows and self._dim:
            # What is no vector of this model keeps its row, so that the rows can be counted.
            size = codec.size(self._dim)
            codes = codec.upper_bytes([blob if len(blob) == size else bytes(size) for _, blob in rows], self._dim)
            self._append(np.array([row_id for row_id, _ in rows], np.int64), codes)
        is_all = len(rows) < _PIECE
        self.progress = self.progress._replace(vector=newest if is_all else rows[-1][0])
        return not is_all

    def _append(self, ids: Ids, rows: Bytes) -> None:
        while len(ids):
            if not self._blocks or not self._blocks[-1].room:
                self._blocks.append(_GrowingBlock(self._dim))
            count = self._blocks[-1].append(ids, rows)
            ids, rows = ids[count:], rows[count:]

    def _sign(self) -> bool:
        # Returns whether there was a full block without signs.
        block = next((block for block in self._blocks if not block.room and block.signs is None), None)
        if block is None or not CAN_COUNT:
            return False
        block.sign(self._blocks[0])
        return True

    def _keep(self, ids: Ids) -> None:
        # Views that were given out share no array that changes here.
        for block in self._blocks:
            block.mask(ids)
        if 2 * self._count(masked=False) < self._count():
            views, self._blocks = [block.view() for block in self._blocks], []
            for view in views:
                is_kept = np.isin(view.ids, ids, assume_unique=True)
                self._append(view.ids[is_kept], view.rows[is_kept])

    def _count(self, *, masked: bool = True) -> int:
        return sum(block.size - (0 if masked else block.masked) for block in self._blocks)


@dataclass
class _GrowingBlock:
    """Room for the rows of a block; rows behind `size` are added, those before it never change."""

    dim: int
    size: int = 0
    masked: int = 0
    _ids: Ids = field(default_factory=lambda: np.empty(_ROWS, np.int64))
    _scales: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty(_ROWS, np.float32))
    _rows: Bytes = field(init=False)
    signs: Signs | None = None
    centre: Centre | None = None
    """Of its vectors; None if there is no use for it yet."""

    def __post_init__(self) -> None:
        self._rows = np.empty((_ROWS, self.dim), np.int8)

    @property
    def room(self) -> int:
        return _ROWS - self.size

    def append(self, ids: Ids, rows: Bytes) -> int:
        """Add the first of some rows, as many as there is room for, and return how many these are."""
        count = min(len(ids), self.room)
        place = slice(self.size, self.size + count)
        self._ids[place], self._rows[place] = ids[:count], rows[:count]
        self._scales[place] = codec.scales(rows[:count])
        self.size += count
        return count

    def sign(self, first: _GrowingBlock) -> None:
        """Find the signs of a full block; the centre of the first one serves for all."""
        if first.centre is None:
            first.centre = centre_of(first._rows, first._scales)
        self.signs = signs_of(self._rows, self._scales, first.centre)

    def mask(self, kept_ids: Ids) -> None:
        """Mask the rows whose ids are not among some sorted ids."""
        is_gone = ~np.isin(self._ids[: self.size], kept_ids, assume_unique=True)
        self.masked = int(is_gone.sum())
        self._scales = self._scales.copy()
        self._scales[: self.size][is_gone] = 0.0

    def view(self) -> Block:
        return Block(self._ids[: self.size], self._rows[: self.size], self._scales[: self.size], self.signs)


def _distances(block: Block, code: Bytes, scale: float) -> Distances:
    distances = products(block.rows, code)
    distances *= block.scales
    distances *= np.float32(-scale)
    distances += np.float32(1.0)
    distances[block.scales == 0] = np.inf
    return distances


def _no_room(demand: int) -> str:
    free = available_bytes()
    if free is None or free >= demand + _SPARE:
        return ""
    return (
        f"too little RAM is free ({free // 2**20} MB) for {-(-demand // 2**20)} MB of vectors; they are compared where "
        "they lie in the file, which takes longer"
    )
