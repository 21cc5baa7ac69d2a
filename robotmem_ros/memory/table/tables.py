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
from .table import Table
from .view import View


class Tables:
    """The table of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._table = Table.empty()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[View]:
        """Lend the table as a snapshot of the database sees it.

        Raises:
            MemoryClosedError: the database was closed.
            StorageError: the database cannot be read.
        """
        with ExitStack() as stack:
            snapshot = stack.enter_context(self._database.snapshot())
            view = self._enter(snapshot)
            if view is None:  # another query has brought changes in that are newer
                stack.pop_all().close()
                with self._lock:
                    view = self._follow(stack.enter_context(self._database.snapshot()))
            stack.callback(self._leave)
            yield view

    def _enter(self, snapshot: Snapshot) -> View | None:
        with self._lock:
            return None if table_rows.is_older(snapshot, self._table.place) else self._follow(snapshot)

    def _follow(self, snapshot: Snapshot) -> View:
        self._table = self._table.follow(snapshot, shared=self._readers > 0)
        self._readers += 1
        return View(self._table, snapshot)

    def _leave(self) -> None:
        with self._lock:
            self._readers -= 1
