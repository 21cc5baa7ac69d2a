"""Reserve the last bytes of a disk for jobs that free room, and keep the log small while few bytes are left.

A deletion writes to the write-ahead log before it frees a page: on a disk without a free byte, nothing could be purged,
evicted or forgotten. So other writes are refused before the disk is full.

The log is as a rule emptied into the database at every thousandth page. If it takes the last bytes of the disk before
that, the database cannot grow by what the log holds, so the log can never be emptied. Where room is scarce, it is
emptied after every commit; and a commit that finds no room is tried again after that.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

from ..errors import StorageError
from .connection import IN_MEMORY, LOG_LIMIT

_RESERVE = 1 << 22
"""Bytes of a disk that only jobs that free room may use."""
_SHARE = 8
"""Divisor of the size of the disk that limits the reserve."""
_SCARCE = 4 * LOG_LIMIT
"""Free bytes below which the log is emptied after each commit."""


class DiskRoom:
    """The room on the disk of a file, for the connection that writes to it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._folder = None if str(path) == IN_MEMORY else path.parent

    def refusal(self) -> sqlite3.OperationalError | None:
        """Return an error for jobs that free no room; None if all jobs may write."""
        total, free = self._disk()
        reserve = reserve_of(total)
        if free >= reserve:
            return None
        return sqlite3.OperationalError(
            f"the disk is full but for {free:,} bytes, and the last {reserve:,} are left to forgetting and purging"
        )

    def after_commit(self) -> None:
        """Give the room of the log back if room is scarce, as soon as the readers of the log are done."""
        if self._disk()[1] < _SCARCE:
            self.make_room()

    def make_room(self) -> None:
        """Write the log back into the file and give its room back."""
        # What is committed is safe in the log; if it cannot be emptied now, the next commit asks again.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _disk(self) -> tuple[int, int]:
        # The size of the disk and the free bytes.
        if self._folder is not None:
            with suppress(OSError):
                disk = shutil.disk_usage(self._folder)
                return disk.total, disk.free
        return _SCARCE, _SCARCE


def free_bytes(path: Path) -> int | None:
    """Return the room on the disk of a file; None if it is not known."""
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free
    return None


def reserve_of(total: int) -> int:
    """Return the bytes of a disk of this size that only jobs that free room may use."""
    return min(_RESERVE, total // _SHARE)


def is_full(error: BaseException | None) -> bool:
    """Tell whether there was no room on the disk."""
    if isinstance(error, StorageError):
        error = error.cause
    return isinstance(error, sqlite3.OperationalError) and "disk is full" in str(error)
