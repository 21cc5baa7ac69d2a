"""Keep the files of the vector index in step with the vectors.

A new file covers the newest vectors once there are enough of them, and takes in the files before it that are not much
larger; so there are few files, and each vector is put into one a few times only, as in a log-structured merge tree.
Files are never changed. A process that dies loses nothing but the one it was writing: what no file covers is compared
one by one until the next start has built it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...storage import Database, vector_rows
from ...storage.vector_rows import SegmentRow
from . import segment
from .segment import Segment, SegmentBuilder

_READ = 512
_RESCAN_PERIOD = 10.0
_RATIO = 2
"""A file is taken into the next one if it is less than this many times as large."""
_LOG = logging.getLogger(__name__)


class IndexBuilder:
    """Opens the files of the index and builds new ones; none for a database that is only read. Thread-safe."""

    def __init__(self, database: Database, minimum: int) -> None:
        self._database = database
        self._minimum = minimum
        self._segments: tuple[Segment, ...] = ()
        self._is_open = database.in_memory or not segment.available()
        self._is_idle = self._is_open
        self._gate = threading.Lock()
        self._updating = threading.Lock()
        self._work: Iterator[None] | None = None
        self._next_check = 0.0

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Return the open files, in the order of their ids."""
        if not self._is_open:
            with self._updating:
                self._open_once()
        return self._segments

    def update(self) -> bool:
        """Put a few hundred vectors into a file; return whether there is more to do."""
        if self._is_idle:
            return False
        with self._turn():
            self._open_once()
            work, self._work = self._work or self._build_missing(), None
            if next(work, self) is self:
                return False
            self._work = work
            return True

    def check_soon(self) -> None:
        """Let the next update look whether half of the index is gone, which it otherwise does every ten seconds."""
        self._next_check = 0.0

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Hold all updates back, and abandon the file that is being built."""
        with self._turn():
            self._work = None
            yield

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # Whoever waits for the lock holds the gate, so that the next piece of an update does not overtake it.
        with self._gate:
            self._updating.acquire()
        try:
            yield
        finally:
            self._updating.release()

    def _open_once(self) -> None:
        if not self._is_open:
            try:
                self._open_named()
            finally:
                self._is_open = True

    def _open_named(self) -> None:
        # The files that the database names, up to the first that is missing or damaged.
        with self._database.reader() as connection:
            named, generation = vector_rows.segments(connection), vector_rows.current_generation(connection)
        known = {one.row: one for one in self._segments}
        opened: list[Segment] = []
        try:
            for row in named:
                opened.append(known.get(row) or Segment(self._database.path.parent, row))
        except (OSError, ValueError, RuntimeError) as error:
            _LOG.warning("the index of vectors is rebuilt from the id %d on: %s", row.low, error)
            if not self._database.read_only:
                self._name_files([one.row for one in opened], generation)
        self._segments = tuple(opened)

    def _build_missing(self) -> Iterator[None]:
        with self._database.reader() as connection:
            generation = vector_rows.current_generation(connection)
            is_current = vector_rows.segments(connection) == [one.row for one in self._segments]
        if not is_current:
            self._open_named()  # another process has built, or the vectors are those of another model
        if self._database.read_only:
            return
        while (kept := self._kept_files()) is not None:
            low = kept[-1].high if kept else 0
            builder = SegmentBuilder(self._database.path, low)
            while found := self._read(low):
                builder.add(found)
                low = found[-1][0]
                yield
            row = builder.save()
            self._name_files([*kept, row] if row else kept, generation)
            self._open_named()
            with self._database.reader() as connection:
                generation = vector_rows.current_generation(connection)
            self._remove_files()
            self._next_check = 0.0

    def _kept_files(self) -> list[SegmentRow] | None:
        # The files that stay while one is built that covers all behind them; None if there is nothing to build.
        rows = [one.row for one in self._segments]
        with self._database.reader() as connection:
            if time.monotonic() >= self._next_check:
                # An index half of which is gone is rebuilt: its missing vectors cost time in each search.
                self._next_check = time.monotonic() + _RESCAN_PERIOD
                if 2 * vector_rows.count_all(connection) < sum(row.vectors for row in rows):
                    return []
            fresh = vector_rows.count_after(connection, rows[-1].high if rows else 0, self._minimum)
        if fresh < self._minimum:
            return None
        while rows and rows[-1].vectors < _RATIO * fresh:
            fresh += rows.pop().vectors
        return rows

    def _read(self, low: int) -> list[tuple[int, bytes]]:
        # A connection for each piece: a long read would keep the write-ahead log from being emptied.
        with self._database.reader() as connection:
            return vector_rows.after(connection, low, _READ)

    def _name_files(self, rows: Sequence[SegmentRow], generation: int) -> None:
        self._database.write(lambda connection: vector_rows.set_segments(connection, rows, generation)).result()

    def _remove_files(self) -> None:
        with self._database.reader() as connection:
            named = {row.file for row in vector_rows.segments(connection)}
        for path in segment.files(self._database.path):
            if path.name not in named:
                path.unlink(missing_ok=True)
