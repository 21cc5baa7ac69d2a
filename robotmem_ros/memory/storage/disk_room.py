"""Keep some room on a disk that fills up, so that a full one still takes what frees room.

A deletion writes to the write-ahead log before it frees a page: on a disk without a free byte, nothing could be purged,
evicted or forgotten. So a file beside the database holds room (as the ballast of CockroachDB does), which is lent to
such writes alone; all others are refused when the disk is full. There is no such file while the disk has room enough.

The log is as a rule emptied into the database at every thousandth page. If it takes the last bytes of the disk before
that, the database cannot grow by what the log holds, so the log can never be emptied. Where room is scarce, it is
emptied after every commit; and a commit that finds no room is tried again after that.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .connection import IN_MEMORY, LOG_LIMIT

_LOW = 1 << 30
"""Bytes free on the disk from which on room is held: a recording at 50 MB/s takes 20 s to fill them."""
_LEAST = 1 << 16
_SHARE = 8
"""At most one in so many bytes of the disk is held."""
_SCARCE = 4 * LOG_LIMIT
"""Bytes free on the disk."""


class DiskReserve:
    """The file `<database>.reserve`, of `size` bytes; 0 for none. Safe to use from several threads."""

    def __init__(self, database: Path, size: int) -> None:
        self.path = database.with_name(f"{database.name}.reserve")
        self._size = size
        self._lock = threading.RLock()

    def update(self) -> bool:
        """Hold room while the disk has little left, else give it back; return that nothing is left to do."""
        if self._size and self._lock.acquire(blocking=False):  # not while it is lent
            try:
                disk = shutil.disk_usage(self.path.parent)
                if disk.free + self._held < _LOW:
                    self._hold(min(self._size, disk.total // _SHARE))
                else:
                    self.path.unlink(missing_ok=True)
            finally:
                self._lock.release()
        return False

    @contextmanager
    def lent(self, *, whole: bool = False) -> Iterator[None]:
        """Give half of the room to a write that frees room, the `whole` to empty the log; hold it again afterwards."""
        with self._lock:
            if whole:
                self.path.unlink(missing_ok=True)
            elif held := self._held:
                os.truncate(self.path, held // 2)
            try:
                yield
            finally:
                with suppress(OSError):
                    self.update()

    @property
    def _held(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _hold(self, wanted: int) -> None:
        # Less is better than none.
        held = self._held
        while wanted >= _LEAST and wanted > held and not self._allocated(wanted):
            wanted //= 2

    def _allocated(self, size: int) -> bool:
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        held = os.fstat(file).st_size
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, size)
            else:
                os.pwrite(file, bytes(size - held), held)
        except OSError:
            os.ftruncate(file, held)
            return False
        finally:
            os.close(file)
        return True


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
