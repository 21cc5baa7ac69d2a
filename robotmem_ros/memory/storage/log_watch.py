"""Say who keeps the write-ahead log from being emptied.

Nothing can shorten the log while a process reads an older state of the file, such as a shell with an open transaction.
Saving goes on meanwhile: to lose what a robot sees would be worse than a long log.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import LogHeldError
from .database import Database
from .file_size import log_limit
from .secure_erase import is_read_elsewhere

_LARGE = 4
"""How many times as large as it should be the log is before it is worth a word."""
_READ_LOCKS = range(123, 128)
"""Bytes of the shared-memory file of which a reader locks one. See "WAL-mode File Format", section 2.3.1."""
_LOCKS = Path("/proc/locks")


def empty_log(database: Database, limit: int) -> bool:
    """Empty the log if it is far larger than `limit` bytes for file and log allow; return whether more is left: never.

    Raises:
        LogHeldError: another process reads an older state.
    """
    log = Path(f"{database.path}-wal")
    if database.in_memory or not log.exists() or log.stat().st_size <= _LARGE * log_limit(limit or 2**62):
        return False
    if database.write_alone(is_read_elsewhere).result():
        raise LogHeldError(log, log.stat().st_size, readers(database.path))
    return False


def readers(path: Path) -> list[str]:
    """Return the processes that read a database now, such as `process 77 (sqlite3)`, as far as Linux tells.

    This process is named only if no other one reads.
    """
    try:
        inode = Path(f"{path}-shm").stat().st_ino
        locks = [line.split() for line in _LOCKS.read_text().splitlines()]
    except OSError:
        return []
    # 1: POSIX ADVISORY READ 77 fd:01:123456 124 124
    found = {
        int(lock[4])
        for lock in locks
        if lock[1] == "POSIX" and lock[5].endswith(f":{inode}") and int(lock[6]) in _READ_LOCKS
    }
    others = sorted(found - {os.getpid(), 0, -1})  # those of other containers have no number here
    named = [f"process {process} ({_name(process)})" for process in others]
    return named or (["this process itself"] if os.getpid() in found else [])


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "unknown"
