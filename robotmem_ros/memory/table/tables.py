"""Keep the table of a database in step with its file, for queries in several threads.

A query sees the table exactly as its snapshot does: before it looks, the changes up to its snapshot are read. They are
made in place as long as no other query looks at the table, else in copies of the columns that change.

Blocks of the table are kept in the file by the programs that ask it, see `table_rows`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from ..storage import Database, table_rows
from ..storage.snapshot import Snapshot
from ..storage.table_rows import KeptBlock
from .kept import pack
from .table import Table
from .vectors import VectorsUnreadError
from .view import View
from .words import code


class Tables:
    """The table of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._table = Table.empty()
        self._readers = 0
        self._is_asked = False

    @property
    def no_room(self) -> str:
        """Say why vectors are not in RAM; empty if they are, or were not asked for."""
        return self._table.vectors.no_room

    @property
    def has_chinese(self) -> bool:
        """Tell whether a text that was read has a Chinese character of the common ones, as Japanese texts have."""
        return self._table.words.hold_any(_han())

    @contextmanager
    def reading(self, *, in_pieces: bool = False, reads_facts: bool = False, lag: int = 0) -> Iterator[View]:
        """Lend the table as a snapshot of the database sees it; see `Table.follow` and `Table.with_facts`.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: the database cannot be read.
        """
        self._is_asked = True
        with ExitStack() as stack:
            snapshot = stack.enter_context(self._database.snapshot())
            view = self._enter(snapshot, in_pieces=in_pieces, reads_facts=reads_facts, lag=lag)
            if view is None:  # another query has brought changes in that are newer
                stack.pop_all().close()
                with self._lock:
                    newer = stack.enter_context(self._database.snapshot())
                    view = self._follow(newer, in_pieces=in_pieces, reads_facts=reads_facts)
            stack.callback(self._leave)
            yield view

    @contextmanager
    def with_facts(self, *, lag: int = 0) -> Iterator[View]:
        """Lend the table with the statements of all facts, as `reading` does.

        With a `lag` it may be so many revisions behind the snapshot: who compares facts in a transaction reads the last
        ones there anyway, and to follow each change takes longer than to follow several at once.
        """
        is_complete = False
        while not is_complete:
            with self.reading(reads_facts=True, lag=lag) as view:
                if is_complete := not len(view.table.facts.unread):
                    yield view

    @contextmanager
    def holding(self, view: View) -> Iterator[Table]:
        """Lend a table that is lent for longer, to those who wait for the writer, when no snapshot may be open."""
        with self._lock:
            self._readers += 1
        try:
            yield view.table
        finally:
            self._leave()

    def follow(self) -> bool:
        """Bring in what changed, so that the next query need not; return whether more is left.

        A table that no query has asked for is not read.
        """
        if not self._is_asked:
            return False
        with self.reading(in_pieces=True) as view:
            return isinstance(view.table.vectors_error, VectorsUnreadError)

    def keep(self) -> Iterator[None]:
        """Keep the blocks that lack much in the file, one by one.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: the database cannot be read or written.
        """
        if self._database.read_only or self._database.in_memory or not self._is_asked:
            return
        with self.reading() as view:
            numbers = table_rows.lacking_blocks(view.snapshot, view.table.counts())
        for number in numbers:
            while self._lacks_facts():
                yield
            with self.reading() as view:
                block, version = view.table.block(number), view.table.version
            kept_block = KeptBlock(number, version.revision, len(block.ids))
            data = pack(block, version.epoch)
            work = partial(table_rows.keep_block, block=kept_block, data=data)
            self._database.write(work, background=True).result()
            yield

    def release(self) -> None:
        """Give the table back, until a query asks for it again."""
        with self._lock:
            self._table, self._is_asked = Table.empty(), False

    def _lacks_facts(self) -> bool:
        with self.reading(reads_facts=True) as view:
            return len(view.table.facts.unread) > 0

    def _enter(self, snapshot: Snapshot, *, in_pieces: bool, reads_facts: bool, lag: int) -> View | None:
        if not lag:
            table_rows.version(snapshot)  # other queries need not wait until it is read
        with self._lock:
            if lag and self._table.lags(snapshot) <= lag:
                return self._lend(snapshot)
            is_older = table_rows.is_older(snapshot, self._table.version)
            return None if is_older else self._follow(snapshot, in_pieces=in_pieces, reads_facts=reads_facts)

    def _follow(self, snapshot: Snapshot, *, in_pieces: bool = False, reads_facts: bool = False) -> View:
        shared = self._readers > 0
        try:
            self._table = self._table.follow(snapshot, shared=shared, in_pieces=in_pieces)
            if reads_facts:
                self._table = self._table.with_facts(snapshot, shared=shared)
        except BaseException:
            if not shared:  # some of its columns may have changed in place
                self._table = Table.empty()
            raise
        return self._lend(snapshot)

    def _lend(self, snapshot: Snapshot) -> View:
        self._readers += 1
        return View(self._table, snapshot)

    def _leave(self) -> None:
        with self._lock:
            self._readers -= 1


@cache
def _han() -> npt.NDArray[np.int64]:
    return np.array([code(chr(point)) for point in range(0x4E00, 0xA000)], np.int64)
