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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...embedding import Vector
from ...errors import RobotMemoryError
from ...storage import codec, vector_rows
from ...storage.codec import Bytes
from ...storage.followers import Place
from ...storage.overview import overview
from ...storage.snapshot import Snapshot
from ...table.signs import CAN_COUNT, Alike, Centre, Distances, Positions, enough, most_alike, signs_of
from .blocks import Block, Code, GrowingBlock, Ids, gather
from .room import available_bytes

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


class Near(NamedTuple):
    """Vectors, and how near they are to a query."""

    ids: Ids
    distances: Distances
    """Cosine distances."""
    error: float
    """Greatest error of a distance, since components are rounded: six standard deviations."""
    alike: Alike | None = None
    """The vectors that were chosen by their signs, which are the first; None if none were left out."""

    def has_nearest(self, n: int) -> bool:
        """Tell whether hardly any of the nearest `n` vectors is missing."""
        return self.alike is None or self.alike.have_nearest(n, self.distances[: len(self.alike.differing)])


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
        """Compare all vectors with a query, ascending by id."""
        return self._compared(Code.of(query), self.blocks)

    def near_of(self, query: Vector, ids: Ids) -> Near:
        """Compare those of some sorted ids alone, ascending by id; ids that are not here are left out."""
        return self._compared(Code.of(query), [gather(self._places_of(ids), len(query))])

    def alike(self, query: Vector, n: int) -> Near:
        """Compare the vectors that may be among the nearest `n`: of very many, those whose signs are alike."""
        signs = [block.signs for block in self.blocks[:-1] if block.signs is not None]
        count, code = enough(len(self), n), Code.of(query)
        if count is None or self.centre is None or not signs or len(signs) < len(self.blocks) - 1:
            return self._compared(code, self.blocks)
        alike = most_alike(signs, signs_of(*code, self.centre), count)
        chosen = gather(zip(self.blocks[:-1], alike.places, strict=True), len(query))
        return self._compared(code, [chosen, self.blocks[-1]])._replace(alike=alike)

    def _compared(self, query: Code, parts: Sequence[Block]) -> Near:
        ids = np.concatenate([np.empty(0, np.int64), *(part.ids for part in parts)])
        distances = np.concatenate([np.empty(0, np.float32), *self._distances(query, parts)])
        coarsest = max((float(part.scales.max()) for part in parts if len(part.ids)), default=0.0)
        return Near(ids, distances, _DEVIATIONS * _ROUNDED * math.hypot(float(query.scales[0]), coarsest))

    def _distances(self, query: Code, parts: Sequence[Block]) -> list[Distances]:
        left, done = deque(range(len(parts))), {}

        def work() -> None:
            with suppress(IndexError):
                while True:
                    at = left.popleft()
                    done[at] = parts[at].distances(query)

        if self.threads is not None and len(parts) > 2:
            with suppress(RuntimeError):  # the memory may be closed
                self.threads.submit(work)
        work()
        # Nobody waits for the other thread: it may have to wait for a core.
        return [done[at] if at in done else part.distances(query) for at, part in enumerate(parts)]

    def _places_of(self, ids: Ids) -> Iterator[tuple[Block, Positions]]:
        for block in self.blocks:
            low, high = np.searchsorted(ids, (block.ids[0], block.ids[-1] + 1))
            if low < high:
                at = np.searchsorted(block.ids, ids[low:high])
                yield block, at[block.ids[at] == ids[low:high]]


class MatrixFollower:
    """Keeps the matrix in step with the vectors of a database, for searches with `threads`. Thread-safe."""

    name = "read vectors"

    def __init__(self, threads: Executor | None = None) -> None:
        self._threads = threads
        self.progress = Place()
        self._lock = threading.Lock()
        self._blocks: list[GrowingBlock] = []
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
                self._blocks.append(GrowingBlock(self._dim))
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


def _no_room(demand: int) -> str:
    free = available_bytes()
    if free is None or free >= demand + _SPARE:
        return ""
    return (
        f"too little RAM is free ({free // 2**20} MB) for {-(-demand // 2**20)} MB of vectors; they are compared where "
        "they lie in the file, which takes longer"
    )
