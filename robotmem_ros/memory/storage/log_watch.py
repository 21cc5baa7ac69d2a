"""Keep the write-ahead log as small as its readers allow, and report the processes that keep it long.

Nothing can shorten the log while a process reads an older state of the file, such as a shell with an open transaction.
Saving goes on, since losing observations would be worse than a long log. But each commit writes a page of nearly every
table and index again, whether it stores one memory or a hundred. So until the log can be emptied, background jobs are
committed once a second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import LogHeldError
from . import log_loss
from .activity import locks_on, program
from .database import Database
from .file_size import log_limit
from .secure_erase import is_read_elsewhere

_LARGE = 4
"""Factor by which the log must exceed its limit before it is reported."""
_GATHERED = 1.0
"""Seconds between two commits of background jobs while the log cannot be emptied."""
_READ_LOCKS = range(123, 128)
"""Bytes of the shared-memory file of which a reader locks one. See "WAL-mode File Format", section 2.3.1."""


class LogWatch:
    """Looks after the log of a database. For one thread at a time.

    Args:
        database: The memory's, not read-only.
        limit: Gives the bytes that file and log may have together, 0 for any.
    """

    def __init__(self, database: Database, limit: Callable[[], int]) -> None:
        self._database = database
        self._limit = limit
        self._log = Path(f"{database.path}-wal")
        self._held_since: float | None = None
        self._marked_at = 0

    def update(self) -> bool:
        """Empty the log if it is far too large, and mark the file after a checkpoint; nothing is left.

        Raises:
            LogHeldError: another process reads an older state.
        """
        if self._database.in_memory or not self._log.exists():
            return False
        is_large = self._log.stat().st_size > _LARGE * log_limit(self._limit() or 2**62)
        if is_large and self._database.write_alone(is_read_elsewhere).result():
            self._database.gather(_GATHERED)
            if self._held_since is None:
                self._held_since = time.monotonic()
            duration = time.monotonic() - self._held_since
            raise LogHeldError(self._log, self._log.stat().st_size, readers(self._database.path), duration)
        self._held_since = None
        self._database.gather(0.0)
        if self._checkpointed_at() != self._marked_at:
            self._database.write_alone(lambda connection: log_loss.mark(connection, self._database.snapshot)).result()
            self._marked_at = self._checkpointed_at()
        return False

    def _checkpointed_at(self) -> int:
        # Only a checkpoint writes to the file itself.
        return self._database.path.stat().st_mtime_ns


def readers(path: Path) -> list[str]:
    """Return the processes that read a database now, such as `process 77 (sqlite3)`, as far as Linux tells.

    This process is listed only if no other process reads.
    """
    try:
        locks = locks_on(Path(f"{path}-shm"))
    except OSError:
        return []
    process_ids = {process for process, _, begin in locks if begin in _READ_LOCKS}
    descriptions = [f"process {process} ({program(process)})" for process in sorted(process_ids - {os.getpid()})]
    return descriptions or (["this process itself"] if process_ids else [])
