"""Keep some room on a disk that fills up, so that a full one still takes what frees room.

A deletion writes to the write-ahead log before it frees a page: on a disk without a free byte, nothing could be purged,
evicted or forgotten. So a file beside the database holds room (as the ballast of CockroachDB does), which is lent to
such writes alone; all others are refused when the disk is full. There is no such file while the disk has room enough.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOW = 1 << 30
"""Bytes free on the disk from which on room is held: a recording at 50 MB/s takes 20 s to fill them."""
_LEAST = 1 << 16
_SHARE = 8
"""At most one in so many bytes of the disk is held."""


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
