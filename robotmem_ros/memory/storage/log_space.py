"""Keeps the write-ahead log from filling a disk on which there is little room left.

A log is as a rule emptied into the file at every thousandth page. If it takes the last bytes of the disk before that,
the file cannot grow by what the log holds, so the log can never be emptied. Where room is scarce, it is emptied after
every commit; and a commit that finds no room is tried again after that.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

from .connection import IN_MEMORY, LOG_LIMIT
from .disk_reserve import DiskReserve

_SCARCE = 4 * LOG_LIMIT
"""Bytes free on the disk."""


class LogSpace:
    """The room for the log of the connection that writes to a file."""

    def __init__(self, connection: sqlite3.Connection, path: Path, reserve: DiskReserve) -> None:
        self._connection = connection
        self._reserve = reserve
        self._folder = None if str(path) == IN_MEMORY else path.parent

    def after_commit(self) -> None:
        """Give the room of the log back if room is scarce, as soon as the readers of the log are done."""
        if self._folder is not None and _free(self._folder) < _SCARCE:
            self.make_room()

    def make_room(self) -> None:
        """Write the log back into the file and give its room back."""
        # What is committed is safe in the log; if it cannot be emptied now, the next commit asks again.
        with suppress(sqlite3.Error):
            try:
                self._empty()
            except sqlite3.OperationalError as error:
                if not is_full(error):
                    raise
                # The file grows by no more than the log has, whose room is free afterwards.
                with self._reserve.lent(whole=True):
                    self._empty()

    def _empty(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def is_full(error: BaseException | None) -> bool:
    """Tell whether SQLite found no room on the disk."""
    return isinstance(error, sqlite3.OperationalError) and "disk is full" in str(error)


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _SCARCE
