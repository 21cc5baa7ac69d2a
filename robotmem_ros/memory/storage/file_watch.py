"""Notice that a database file was changed, by whatever program."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

from ..errors import MALFORMED, StorageError

_SHOWN = """
SELECT
    (SELECT seq FROM sqlite_sequence WHERE name = 'memories'),
    (SELECT max(id) FROM memory_history),
    (SELECT max(id) FROM sightings),
    (SELECT max(id) FROM contributions),
    (SELECT total(facts + perceptions + notes) FROM collections),
    (SELECT max(id) FROM sessions),
    (SELECT max(ended_at) FROM sessions WHERE status = 'ended'),
    (SELECT max(id) FROM session_outcomes),
    (SELECT sum(times_seen) + sum(misses + missed) FROM objects),
    (SELECT group_concat(hex(digest)) FROM occupancy_grids)
"""


class FileState(NamedTuple):
    """How often a file was seen to change, and the newest memory in it."""

    version: int
    """Grows when memories, sightings, sessions or maps came, went or changed, not what is derived from them."""
    newest: int
    """Id of the memory that was stored last; 0 if there was never one."""


class FileWatch:
    """Looks for changes on a connection of its own. Safe to use from several threads.

    `PRAGMA data_version` tells whether other connections have committed, and costs next to nothing. Recalls are counted
    in the file as well: who looks at the memory again after such a change would never come to rest.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connect()
        self._lock = threading.Lock()
        self._data_version = -1
        self._shown: tuple[object, ...] = ()
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
                shown = self._connection.execute(_SHOWN).fetchone()
                self._data_version = data_version
                if shown != self._shown:
                    self._shown = shown
                    self._state = FileState(self._state.version + 1, int(shown[0] or 0))
        except (sqlite3.Error, *MALFORMED) as cause:
            raise StorageError("watch the database", cause) from cause
        return self._state

    def __enter__(self) -> FileWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
