"""The lock that lets one process of all read the folders of notes for a database."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where each process reads the folders
    fcntl = None  # type: ignore[assignment]


class KeeperLock:
    """Decides which of the processes that have a database open keeps its notes: the first one, until it ends.

    It locks the file `<database>.notes-lock`; the kernel gives that back however the process ends.
    """

    def __init__(self, database: Path | None) -> None:
        self._path = database.with_name(f"{database.name}.notes-lock") if database else None
        self._file: int | None = None
        self.is_held = self._path is None or fcntl is None

    def take(self) -> bool:
        """Take the lock if it is free; return whether it is held by this object."""
        if not self.is_held and self._path is not None:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.is_held = True
        return self.is_held

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self.is_held = False
