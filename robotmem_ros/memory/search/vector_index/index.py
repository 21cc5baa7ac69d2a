"""All vectors of a database, ready to be searched: files of the index for the many, flat rows for the newest."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ...embedding import Vector
from ...storage import Database, codec, vector_rows
from . import segment
from .batch import Ids
from .brute_force import BruteForceVectors, Rows
from .index_builder import IndexBuilder
from .search import Search, measured
from .segment import Segment


class VectorIndex:
    """The vectors of a database. Safe to use from several threads.

    From `minimum` vectors on they are put into an index, in the background; those that are not in it yet are compared
    one by one. Without usearch, and in memory, all are.
    """

    def __init__(self, database: Database, minimum: int) -> None:
        self._minimum = minimum
        self._lock = threading.Lock()
        self._segments: tuple[Segment, ...] = ()
        self._newest = BruteForceVectors()
        self._builder = IndexBuilder(database, minimum, self._adopt)

    def search(self, connection: sqlite3.Connection, query: Vector, among: Ids | None = None) -> Search:
        """A search for the vectors nearest to a query, or for the nearest of some, whose ids ascend.

        Of other lengths than the query's there are none. `among` is only for where it `can_choose`.
        """
        self._builder.wait_until_open()
        segments, newest = self._current(connection, len(query))
        return Search(connection, query, segments, newest, among)

    @property
    def has_files(self) -> bool:
        """Whether not all vectors are compared one by one."""
        self._builder.wait_until_open()
        return bool(self._segments)

    @property
    def can_choose(self) -> bool:
        """Whether some vectors can be compared without the others."""
        self._builder.wait_until_open()
        return all(one.can_choose for one in self._segments)

    def look_ahead(self, query: Vector, width: int, *, deep: bool) -> None:
        """Searches the files of the index for what the first batch of a search of that width will ask for.

        Needs no connection, so it can go on in another thread while the database is busy.
        """
        vector = codec.as_bytes(query[np.newaxis])[0]
        for one in self._segments:
            if one.dim == len(query):
                one.nearest(vector, width, deep=deep)

    def distances(self, connection: sqlite3.Connection, query: Vector, ids: Iterable[int]) -> dict[int, float]:
        """The exact cosine distances of some vectors, by id; those that are gone are left out."""
        found, near = measured(vector_rows.named(connection, list(ids)), query)
        return dict(zip(found.tolist(), near.tolist(), strict=True))

    @property
    def missing(self) -> str:
        """What there is to be said about a large collection that has no index; empty when it has one."""
        if segment.available() or len(self._newest) < self._minimum:
            return ""
        return "usearch is not installed (pip install usearch); all vectors are compared one by one"

    def wake(self) -> None:
        """Says that there are new vectors."""
        self._builder.wake()

    def flush(self) -> None:
        """Waits until the index is as it should be for the vectors that are there now."""
        self._builder.flush()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Makes no file meanwhile, so that what is taken away for good gets into none."""
        with self._builder.stopped():
            yield

    def close(self) -> None:
        """Ends the thread; what it was building is left, and built at the next start."""
        self._builder.close()

    def _adopt(self, segments: Sequence[Segment]) -> None:
        with self._lock:
            self._segments = tuple(segments)

    def _current(self, connection: sqlite3.Connection, dim: int) -> tuple[tuple[Segment, ...], Rows]:
        with self._lock:
            segments = self._segments if all(one.dim == dim for one in self._segments) else ()
            last = segments[-1].row.high if segments else 0
            return segments, self._newest.after(connection, last, dim)
