"""Notice that any program changed a database file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import NamedTuple

from ..errors import MALFORMED, StorageError
from . import revisions, rows
from .snapshot import Snapshot


class FileState(NamedTuple):
    """The last change of a file, and the newest memory in it."""

    version: int
    """Last revision, which grows with each change that a reader sees, not with changes of derived data."""
    newest: int
    """Id of the memory that was stored last; 0 if none ever was."""


class FileWatch:
    """Looks for changes on a connection of its own. Safe to use from several threads.

    `PRAGMA data_version` tells at little cost whether other connections have committed.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connect()
        self._lock = threading.Lock()
        self._data_version = -1
        self._state = FileState(0, 0)

    def look(self) -> FileState:
        """Return the state of the file now.

        Raises:
            StorageError: the database could not be read.
        """
        with self._lock:
            return self._look()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _look(self) -> FileState:
        try:
            data_version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if data_version != self._data_version:
                snapshot = Snapshot(self._connection)
                self._state = FileState(revisions.latest(snapshot), rows.last_id(snapshot))
                self._data_version = data_version
        except (sqlite3.Error, *MALFORMED) as cause:
            raise StorageError("watch the database", cause) from cause
        return self._state
