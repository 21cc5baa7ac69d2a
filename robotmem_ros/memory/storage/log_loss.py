"""Notice that the write-ahead log has lost commits since the file was open: it was removed, emptied or damaged.

SQLite takes what is left of a log for all of it, and says nothing. Two things tell:

- Two numbers, on two pages of the file, are equal in file and log together, but not in the file alone: `mark` increases
  the first in one commit, the second in the next, and a reader between the two keeps a checkpoint from writing the
  second into the file. A file without a log in which they differ was parted from its log. Whoever closes it in order,
  SQLite's shell too, writes the log back, and the second number with it.
- The end of a log that SQLite accepts is followed by two commits or more of the same log: it is damaged there. A single
  one may be the last before a power cut, which nobody was told is on disk.

A loss is not noticed between the next checkpoint and the next `mark`, where the damaged commit is the last one of the
log, or where both files are of the same earlier time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

_HEADER, _FRAME = 32, 24
"""Bytes before the first frame, and before the page of each. See "WAL-mode File Format", section 2.1 and 2.2."""
_DIFFER = "SELECT 1 FROM settings, log_mark WHERE name = 'log' AND CAST(value AS INTEGER) <> n"


class Log(NamedTuple):
    """A write-ahead log as it lies on the disk, whether or not SQLite accepts it."""

    salts: bytes
    """What its frames have in common; empty without a log."""
    commits: tuple[int, ...]
    """The numbers of the frames that end a transaction, from 1."""


def read_log(path: Path) -> Log:
    """Read the log of a database; SQLite locks the other two files, so this one may be opened and closed."""
    commits = []
    with suppress(OSError), Path(f"{os.path.realpath(path)}-wal").open("rb", buffering=0) as log:
        header = log.read(_HEADER)
        page = int.from_bytes(header[8:12], "big")
        salts = header[16:24]
        if not 512 <= page <= 65536 or len(salts) < 8:
            return Log(salts, ())
        number = 1
        while len(frame := log.read(_FRAME)) == _FRAME:
            if frame[8:16] == salts and any(frame[4:8]):
                commits.append(number)
            log.seek(_HEADER + number * (_FRAME + page))
            number += 1
        return Log(salts, tuple(commits))
    return Log(b"", ())


def mark(connection: sqlite3.Connection, snapshot: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
    """Make the numbers differ in the file; `connection` is in no transaction, `snapshot` gives another one that reads.

    Raises:
        sqlite3.Error: the file could not be written; call `settle` before it is closed.
    """
    connection.execute("INSERT OR REPLACE INTO settings SELECT 'log', n + 1 FROM log_mark")
    with snapshot() as reader:
        is_unsettled(reader)
        settle(connection)
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def settle(connection: sqlite3.Connection) -> None:
    """Make the numbers equal in file and log together."""
    connection.execute("UPDATE log_mark SET n = (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'log')")


def is_unsettled(connection: sqlite3.Connection) -> bool:
    """Return whether the numbers differ."""
    with suppress(sqlite3.Error):  # no database of this program
        return connection.execute(_DIFFER).fetchone() is not None
    return False


def loss(connection: sqlite3.Connection, path: Path, before: Log) -> str:
    """Tell whether commits were lost; empty if not, as far as can be told.

    Args:
        connection: Has just been opened, and has written nothing.
        path: The database.
        before: The log as it was before.
    """
    frames = _accepted(connection, before)
    if frames == 0 and is_unsettled(connection):
        return (
            f"the log {str(path) + '-wal'!r} was gone, empty or damaged at opening: what was stored last and was only "
            "in the log is lost; a copy of a file in use needs VACUUM INTO"
        )
    lost = sum(commit > frames for commit in before.commits) - 1
    if frames > 0 and lost > 0 and read_log(path).salts == before.salts:
        return f"the log {str(path) + '-wal'!r} was damaged at opening: the last {lost} or more commits are lost"
    return ""


def _accepted(connection: sqlite3.Connection, before: Log) -> int:
    # How many frames SQLite has accepted; -1 if it does not tell. On a connection that only reads it does not.
    try:
        frames = int(connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1])
    except sqlite3.OperationalError:
        return -1 if before.salts else 0
    return frames
