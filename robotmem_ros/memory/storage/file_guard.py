"""Notice what another program did to the file or its log: while it is open, and save its contents, and before.

If an open file is removed or another file is moved onto it, the program writes to a file without a name, and all its
writes are lost when the program ends. A log that stays beside another file is worse: the next program that opens that
file writes the log into it. If the file is emptied or its end is cut off, the program goes on with the pages that it
still has in RAM, and what it writes is worth nothing without the others.

Each page of a state of the database is in the file, or in a frame of the log that no checkpoint has finished to write
into the file. A reader of that state keeps both from going away, so a page that is in neither was cut off. What tells
how far checkpoints came is read before the log, and the log before the size of the file, which grows meanwhile.

When it is opened, its log may have lost commits: it was removed, emptied or damaged. SQLite accepts a shortened log
without an error. Two signs tell of a loss:

- Two numbers, on two pages of the file, are equal in each state of the database, but not in the file without its log:
  `mark_log` changes both in one commit, and then writes the page of the second number again while a reader is open. A
  checkpoint brings the first page into the file but not the second, which is newer than the state of the reader. A
  program that closes the file in order, SQLite's shell too, writes the log back, and then both numbers are equal.
- Two or more commits of the same log follow the end that SQLite accepts: the log is damaged there. A single commit may
  be the last before a power cut, which was never confirmed.

A loss is not noticed between the next checkpoint and the next `mark_log`, if only the last commit of the log is
damaged, or if both files are of the same earlier time.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from ..errors import DatabaseLostError
from .connection import is_locked, without_patience
from .disk import copy_into
from .snapshot import Snapshot

_PERIOD = 1.0
"""Seconds between two looks at the path."""
_CUT = "it was cut off while it was open"
_OVERWRITTEN = "its beginning was overwritten while it was open"
_MAGIC = b"SQLite format 3\0"
_BACKFILLED = 96
"""Where the index of the log has the number of frames that are in the file: "WAL-mode File Format", section 2.3.1."""
_LOOKS = 3
_LOCK_BYTE = 1 << 30
"""The page with this byte is never written."""
_HEADER, _FRAME = 32, 24
"""Bytes before the first frame, and before the page of each. See "WAL-mode File Format", section 2.1 and 2.2."""
_DIFFER = "SELECT 1 FROM settings, log_mark WHERE name = 'log' AND CAST(value AS INTEGER) <> n"
_LOG = logging.getLogger(__name__)


class FileGuard:
    """Compares the file at a path, and its log, with those that are open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._real = Path(os.path.realpath(path))
        self._identities = {file: _identity(file) for file in (path, self._beside("-wal"))}
        self._next_check = 0.0
        self._loss: DatabaseLostError | None = None
        self._is_saved, self._damage = False, ""

    def happened(self) -> str:
        """Return what happened to the file or its log: it was taken away, replaced or emptied; empty if nothing did."""
        # Pages that are gone do not come back, whatever is written into the file.
        if self._damage:
            return self._damage
        for (file, identity), name in zip(self._identities.items(), ("the file", "its log"), strict=True):
            if identity is not None and (now := _identity(file)) != identity:
                if now is not None:
                    return f"another file was moved onto {name} while it was open"
                return f"{name} was taken away while it was open" + ("" if file.parent.exists() else ", and its folder")
        # It has pages, which are never all given back.
        return "" if _size(self._path) else _CUT

    def check(self, connection: sqlite3.Connection, *, at_once: bool = False) -> DatabaseLostError | None:
        """Check the path, at most once a second unless `at_once`; return why nothing may be written.

        When the file is first missing, the contents of the open file are saved beside it. The connection must be in no
        transaction.
        """
        now = time.monotonic()
        if now < self._next_check and not at_once:
            return self._loss
        self._next_check = now + _PERIOD
        problem = self.happened() or self._damage_now(connection)
        self._damage = problem if problem in (_CUT, _OVERWRITTEN) else ""
        if not problem:
            self._loss = None
        elif self._loss is None or (at_once and not self._is_saved):
            self._loss = DatabaseLostError(self._path, problem, self._save(connection))
            _LOG.error("%s", self._loss)
        return self._loss

    def _save(self, connection: sqlite3.Connection) -> str:
        is_there = _identity(self._path) == self._identities[self._path]
        copy = None if is_there and not self._damage else self._free_name()
        self._is_saved = False
        try:
            if copy is not None:
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                copy_into(connection, copy)
            if self._damage:
                self._is_saved = True
                return f"what could still be read of it is saved in {str(copy)!r}"
            # Empties the old log, so that it cannot be written into a file that was moved here.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (OSError, sqlite3.Error) as error:
            if copy is not None:
                copy.unlink(missing_ok=True)
            return f"what it holds could not be saved ({error})"
        self._is_saved = True
        return "what it holds is " + ("in the file" if copy is None else f"saved in {str(copy)!r}")

    def _damage_now(self, connection: sqlite3.Connection) -> str:
        damage = ""
        with suppress(sqlite3.Error):  # each job raises it
            # A checkpoint leaves out what another process has given back since a state began; so look at others too.
            for _ in range(_LOOKS):
                connection.execute("BEGIN")
                try:
                    damage = self._damage_of_state(connection)
                finally:
                    connection.execute("ROLLBACK")
                if not damage:
                    break
        return damage

    def _damage_of_state(self, connection: sqlite3.Connection) -> str:
        # In a transaction that reads one state of the database.
        count, page_size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        if _read_open(self._real, 0, len(_MAGIC)) not in (b"", _MAGIC):
            return _OVERWRITTEN
        if count * page_size <= _size(self._path):
            return ""
        backfilled = int.from_bytes(_read_open(self._beside("-shm"), _BACKFILLED, 4), sys.byteorder)
        frames = read_log(self._path).pages
        in_file = _size(self._path) // page_size
        beyond = set(range(in_file + 1, count + 1)) - {_LOCK_BYTE // page_size + 1}
        return _CUT if any(frames.get(page, 0) <= backfilled for page in beyond) else ""

    def _beside(self, ending: str) -> Path:
        return self._real.with_name(f"{self._real.name}{ending}")

    def _free_name(self) -> Path:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
        names = (
            f"{self._path.stem}.saved-{stamp}{end}{self._path.suffix}"
            for end in ("", *map("-{}".format, range(2, 1000)))
        )
        return next(file for name in names if not (file := self._path.with_name(name)).exists())


def _read_open(file: Path, offset: int, count: int) -> bytes:
    """Read from a descriptor that SQLite has open: closing one of our own would drop its locks. Empty without one."""
    identity = _identity(file)
    with suppress(OSError):
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # closed since, or only writes
                status = os.fstat(int(descriptor.name))
                if (status.st_dev, status.st_ino) == identity:
                    return os.pread(int(descriptor.name), count, offset)
    return b""


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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


def mark_log(connection: sqlite3.Connection, snapshot: Callable[[], AbstractContextManager[Snapshot]]) -> bool:
    """Make the numbers differ in the file alone; return false if another process writes just now: a later mark will do.

    `connection` is in no transaction, `snapshot` opens a snapshot.

    Raises:
        sqlite3.Error: the file could not be written.
    """
    with without_patience(connection):
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_locked(error):
                return False
            raise
        with connection:
            connection.execute("UPDATE log_mark SET n = n + 1")
            connection.execute("INSERT OR REPLACE INTO settings SELECT 'log', n FROM log_mark")
        with snapshot() as reader:
            reader.row(_DIFFER)
            # A process with the lock of writers may wait for this reader to end.
            with suppress(sqlite3.OperationalError):
                connection.execute("UPDATE log_mark SET writes = writes + 1")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return True


def settle_log(connection: sqlite3.Connection) -> None:
    """Make the numbers equal in a file that lost its log."""
    if _is_parted(connection):
        connection.execute("UPDATE log_mark SET n = (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'log')")


def log_loss(connection: sqlite3.Connection, path: Path, before: Log) -> str:
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
