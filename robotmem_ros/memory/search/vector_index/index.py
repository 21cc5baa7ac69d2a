"""All vectors of a database, ready to be searched: files of the index for the many, flat rows for the newest."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
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
        self._newest = BruteForceVectors()
        self._builder = IndexBuilder(database, minimum)

    def search(self, connection: sqlite3.Connection, query: Vector, among: Ids | None = None) -> Search:
        """A search for the vectors nearest to a query, or for the nearest of some, whose ids ascend.

        Of other lengths than the query's there are none. `among` is only for where it `can_choose`.
        """
        segments, newest = self._current(connection, len(query))
        return Search(connection, query, segments, newest, among)

    @property
    def has_files(self) -> bool:
        """Whether not all vectors are compared one by one."""
        return bool(self._builder.segments)

    @property
    def can_choose(self) -> bool:
        """Whether some vectors can be compared without the others."""
        return all(one.can_choose for one in self._builder.segments)

    def look_ahead(self, query: Vector, width: int, *, deep: bool) -> None:
        """Searches the files of the index for what the first batch of a search of that width will ask for.

        Needs no connection, so it can go on in another thread while the database is busy.
        """
        vector = codec.as_bytes(query[np.newaxis])[0]
        for one in self._builder.segments:
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

    def update(self) -> bool:
        """Put a few hundred vectors that the index lacks into a new file; return whether there is more to do.

        Call it until it returns False: then the index covers all it should.

        Raises:
            OSError: a file cannot be written.
            StorageError: the database cannot be read or written.
        """
        return self._builder.update()

    def flush(self) -> None:
        """Update the index until it is as it should be for the vectors that are there now."""
        self._builder.check_soon()
        while self.update():
            pass

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Makes no file meanwhile, so that what is taken away for good gets into none."""
        with self._builder.stopped():
            yield

    def _current(self, connection: sqlite3.Connection, dim: int) -> tuple[tuple[Segment, ...], Rows]:
        segments = self._builder.segments
        with self._lock:
            segments = segments if all(one.dim == dim for one in segments) else ()
            last = segments[-1].row.high if segments else 0
            return segments, self._newest.after(connection, last, dim)
