"""Keeps the files of the index in step with the vectors, in the background.

A new file covers the newest vectors once there are enough of them, and takes in the files before it that are not much
larger; so there are few files, and each vector is put into one a few times only, as in a log-structured merge tree.
Files are never changed. A process that dies loses nothing but the one it was writing: what no file covers is compared
one by one until the next start has built it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from ...background import Worker
from ...storage import Database, codec, vector_rows
from ...storage.vector_rows import SegmentRow
from . import segment
from .batch import Ids
from .segment import Segment

_READ = 512
_RESCAN_PERIOD = 10.0
_RATIO = 2
"""A file is taken into the next one if it is less than so many times as large."""
_LOG = logging.getLogger(__name__)


class InterruptedBuildError(Exception):
    """A file is not to be finished: the memory is being closed, or vectors are taken away for good."""


class IndexBuilder:
    """A thread that opens the files of the index, builds new ones and gives the open ones to `adopt`.

    Of a database that is only read it builds none.
    """

    def __init__(self, database: Database, minimum: int, adopt: Callable[[Sequence[Segment]], None]) -> None:
        self._database = database
        self._minimum = minimum
        self._adopt = adopt
        self._open: list[Segment] = []
        self._opened = threading.Event()
        self._next_check = 0.0
        self._stopping = threading.Lock()
        self._stopped = 0
        self._working = threading.Lock()
        self._closing = False
        self._worker: Worker | None = None
        if database.in_memory or not segment.available():
            self._opened.set()
            return
        complaint = "the index of vectors could not be kept"
        self._worker = Worker("robotmem-index", self._step, _RESCAN_PERIOD, complaint)

    def wait_until_open(self) -> None:
        """Waits until the files that are there are open."""
        self._opened.wait()

    def wake(self) -> None:
        """Says that there are new vectors."""
        if self._worker:
            self._worker.wake()

    def flush(self) -> None:
        """Waits until the files cover all vectors that they should by now."""
        self._next_check = 0.0
        if self._worker:
            self._worker.flush()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Builds nothing meanwhile, and looks afterwards which files there still are."""
        self._stop(1)
        try:
            with self._working:
                yield
        finally:
            self._stop(-1)
            self.wake()

    def close(self) -> None:
        """Ends the thread, soon."""
        self._closing = True
        if self._worker:
            self._worker.close()
        self._opened.set()

    def _stop(self, by: int) -> None:
        with self._stopping:
            self._stopped += by

    def _step(self) -> None:
        with self._working, suppress(InterruptedBuildError):
            if not self._opened.is_set():
                try:
                    self._take_up()
                finally:
                    self._opened.set()
            self._catch_up()

    def _take_up(self) -> None:
        # The files that the database names, up to the first that is missing or damaged.
        with self._database.reader() as connection:
            named, generation = vector_rows.segments(connection), vector_rows.current_generation(connection)
        known = {one.row: one for one in self._open}
        chain: list[Segment] = []
        try:
            for row in named:
                chain.append(known.get(row) or Segment(self._database.path.parent, row))
        except (OSError, ValueError, RuntimeError) as error:
            _LOG.warning("the index of vectors is built anew from the id %d on: %s", row.low, error)
            if not self._database.read_only:
                self._name_files([one.row for one in chain], generation)
        self._open = chain
        self._adopt(chain)

    def _catch_up(self) -> None:
        generation = self._generation()
        with self._database.reader() as connection:
            is_current = vector_rows.segments(connection) == [one.row for one in self._open]
        if not is_current:
            self._take_up()  # another process has built, or the vectors are those of another model
        if self._database.read_only:
            return
        while (kept := self._kept_files()) is not None:
            low = kept[-1].high if kept else 0
            row = segment.build(self._database.path, low, self._vectors(low))
            self._name_files([*kept, row] if row else kept, generation)
            generation = self._generation()
            self._take_up()
            self._remove_files()
            self._next_check = 0.0

    def _kept_files(self) -> list[SegmentRow] | None:
        # The files that stay while one is built that covers all behind them; None if there is nothing to build.
        rows = [one.row for one in self._open]
        with self._database.reader() as connection:
            if time.monotonic() >= self._next_check:
                # An index half of which is gone is made anew: what is gone is found and asked for in vain.
                self._next_check = time.monotonic() + _RESCAN_PERIOD
                if 2 * vector_rows.count_all(connection) < sum(row.vectors for row in rows):
                    return []
            fresh = vector_rows.count_after(connection, rows[-1].high if rows else 0, self._minimum)
        if fresh < self._minimum:
            return None
        while rows and rows[-1].vectors < _RATIO * fresh:
            fresh += rows.pop().vectors
        return rows

    def _vectors(self, low: int) -> Iterator[tuple[Ids, codec.Bytes]]:
        # A connection for each piece: a long read would keep the write-ahead log from being emptied.
        dim = 0
        while True:
            with self._database.reader() as connection:
                found = vector_rows.after(connection, low, _READ)
            if self._closing or self._stopped:
                raise InterruptedBuildError
            if not found:
                return
            dim = dim or codec.dimension(found[0][1])
            fitting = [(row_id, kept) for row_id, kept in found if codec.dimension(kept) == dim]
            yield np.array([row_id for row_id, _ in fitting]), codec.upper_bytes([kept for _, kept in fitting], dim)
            low = found[-1][0]

    def _generation(self) -> int:
        with self._database.reader() as connection:
            return vector_rows.current_generation(connection)

    def _name_files(self, rows: Sequence[SegmentRow], generation: int) -> None:
        self._database.write(lambda connection: vector_rows.set_segments(connection, rows, generation)).result()

    def _remove_files(self) -> None:
        with self._database.reader() as connection:
            named = {row.file for row in vector_rows.segments(connection)}
        for path in segment.files(self._database.path):
            if path.name not in named:
                path.unlink(missing_ok=True)
