"""Keep the table of a database in step with its file, for queries in several threads.

A query sees the table exactly as its snapshot does: before it looks, the changes up to its snapshot are read. They are
made in place as long as no other query looks at the table, else in copies of the columns that change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..storage import Database, table_rows
from ..storage.snapshot import Snapshot
from .facts import FactFeed
from .table import Table
from .view import View


class Tables:
    """The table of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._table = Table.empty()
        self.facts = FactFeed(database)
        self._readers = 0
        self._is_asked = False

    @contextmanager
    def reading(self) -> Iterator[View]:
        """Lend the table as a snapshot of the database sees it.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: the database cannot be read.
        """
        self._is_asked = True
        with ExitStack() as stack:
            snapshot = stack.enter_context(self._database.snapshot())
            view = self._enter(snapshot)
            if view is None:  # another query has brought changes in that are newer
                stack.pop_all().close()
                with self._lock:
                    view = self._follow(stack.enter_context(self._database.snapshot()))
            stack.callback(self._leave)
            yield view

    def follow(self) -> bool:
        """Bring in what changed, so that the next query need not; return that nothing is left to do.

        A table that no query has asked for is not read.
        """
        if self._is_asked:
            with self.reading():
                pass
        return False

    def release(self) -> None:
        """Give the table back, until a query asks for it again."""
        with self._lock:
            self._table, self._is_asked = Table.empty(), False
        self.facts.release()

    def _enter(self, snapshot: Snapshot) -> View | None:
        with self._lock:
            return None if table_rows.is_older(snapshot, self._table.place) else self._follow(snapshot)

    def _follow(self, snapshot: Snapshot) -> View:
        try:
            self._table = self._table.follow(snapshot, shared=self._readers > 0)
        except BaseException:
            if not self._readers:  # some of its columns may have changed in place
                self._table = Table.empty()
            raise
        self._readers += 1
        return View(self._table, snapshot)

    def _leave(self) -> None:
        with self._lock:
            self._readers -= 1
