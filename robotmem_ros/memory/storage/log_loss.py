"""Notice that the write-ahead log has lost commits since the file was open: it was removed, emptied or damaged.

SQLite accepts a shortened log without an error. Two signs tell of a loss:

- Two numbers, on two pages of the file, are equal in each state of the database, but not in the file without its log:
  `mark` changes both in one commit, and then writes the page of the second number again while a reader is open. A
  checkpoint brings the first page into the file but not the second, which is newer than the state of the reader. A
  program that closes the file in order, SQLite's shell too, writes the log back, and then both numbers are equal.
- Two or more commits of the same log follow the end that SQLite accepts: the log is damaged there. A single commit may
  be the last before a power cut, which was never confirmed.

A loss is not noticed between the next checkpoint and the next `mark`, if only the last commit of the log is damaged, or
if both files are of the same earlier time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

from .snapshot import Snapshot

_HEADER, _FRAME = 32, 24
"""Bytes before the first frame, and before the page of each. See "WAL-mode File Format", section 2.1 and 2.2."""
_DIFFER = "SELECT 1 FROM settings, log_mark WHERE name = 'log' AND CAST(value AS INTEGER) <> n"


class Log(NamedTuple):
    """A write-ahead log as it lies on the disk, whether or not SQLite accepts it."""

    salts: bytes
    """Salts that all its frames share; empty without a log."""
    commits: tuple[int, ...]
    """Numbers of the frames that end a transaction, from 1."""
    pages: Mapping[int, int] = {}
    """The number of the last frame of each page of the database."""


def read_log(path: Path) -> Log:
    """Read the log of a database; SQLite locks the other two files, so this one may be opened and closed."""
    commits, pages = [], {}
    with suppress(OSError), Path(f"{os.path.realpath(path)}-wal").open("rb", buffering=0) as log:
        header = log.read(_HEADER)
        page = int.from_bytes(header[8:12], "big")
        salts = header[16:24]
        if not 512 <= page <= 65536 or len(salts) < 8:
            return Log(salts, ())
        number = 1
        while len(frame := log.read(_FRAME)) == _FRAME:
            if frame[8:16] == salts:
                pages[int.from_bytes(frame[:4], "big")] = number
                if any(frame[4:8]):
                    commits.append(number)
            log.seek(_HEADER + number * (_FRAME + page))
            number += 1
        return Log(salts, tuple(commits), pages)
    return Log(b"", ())


def mark(connection: sqlite3.Connection, snapshot: Callable[[], AbstractContextManager[Snapshot]]) -> None:
    """Make the numbers differ in the file alone; `connection` is in no transaction, `snapshot` opens a snapshot.

    Raises:
        sqlite3.Error: the file could not be written.
    """
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        connection.execute("UPDATE log_mark SET n = n + 1")
        connection.execute("INSERT OR REPLACE INTO settings SELECT 'log', n FROM log_mark")
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    with snapshot() as reader:
        reader.row(_DIFFER)
        # A process with the lock of writers may wait for this reader to end. Then a later mark will do.
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            with suppress(sqlite3.OperationalError):
                connection.execute("UPDATE log_mark SET writes = writes + 1")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(patience)}")


def settle(connection: sqlite3.Connection) -> None:
    """Make the numbers equal in a file that lost its log."""
    if _is_parted(connection):
        connection.execute("UPDATE log_mark SET n = (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'log')")


def loss(connection: sqlite3.Connection, path: Path, before: Log) -> str:
    """Tell whether commits were lost; empty if not, as far as can be told.

    Args:
        connection: Has just been opened, and has written nothing.
        path: The database.
        before: The log as it was before.
    """
    if _is_parted(connection):
        return (
            f"the log {str(path) + '-wal'!r} was gone, empty or damaged at opening: what was stored last and was only "
            "in the log is lost; copy a file in use by `robotmem backup`"
        )
    frames = _count_frames(connection)
    lost_commits = sum(commit > frames for commit in before.commits) - 1
    # Another process may have restarted the log since.
    if frames > 0 and lost_commits > 0 and read_log(path).salts == before.salts:
        return (
            f"the log {str(path) + '-wal'!r} was damaged at opening: the last {lost_commits} or more commits are lost"
        )
    return ""


def _count_frames(connection: sqlite3.Connection) -> int:
    # The number of frames that SQLite has accepted; 0 on a connection that only reads, which cannot ask.
    try:
        return int(connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1])
    except sqlite3.OperationalError:
        return 0


def _is_parted(connection: sqlite3.Connection) -> bool:
    with suppress(sqlite3.Error):  # no database of this program
        return connection.execute(_DIFFER).fetchone() is not None
    return False
