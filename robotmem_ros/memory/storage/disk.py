"""Keep file, log and disk of a database in order: room, who has the file open, what is given back, and copies.

The last bytes of a disk are reserved for jobs that free room. A deletion writes to the write-ahead log before it frees
a page: on a disk without a free byte, nothing could be purged, evicted or forgotten. So other writes are refused before
the disk is full.

The log is as a rule emptied into the database at every thousandth page. If it takes the last bytes of the disk before
that, the database cannot grow by what the log holds, so the log can never be emptied. So this growth counts as taken,
and no transaction may grow the database by more than there is room for twice: in the log and in the file. Where room
is scarce, the log is emptied after every commit. A commit that finds no room waits for the readers of the log, empties
it, and is tried again.

Nothing can shorten the log while a process reads an older state of the file, such as a shell with an open transaction.
Saving goes on, since losing observations would be worse than a long log. But each commit writes a page of nearly every
table and index again, whether it stores one memory or a hundred. So until the log can be emptied, background jobs are
committed once a second.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..clocks import comparable_since, nanoseconds
from ..errors import LogHeldError, StorageError
from ..progress import Progress, listener
from .connection import IN_MEMORY, INCREMENTAL, LOG_LIMIT, create_empty, without_patience
from .snapshot import Snapshot, Transaction

_RESERVE = 1 << 22
"""Bytes of a disk that only jobs that free room may use."""
_SHARE = 8
"""Divisor of the size of the disk that limits the reserve."""
_SCARCE = 4 * LOG_LIMIT
"""Free bytes below which the log is emptied after each commit."""
_STEP = 64
"""Maximum number of pages to give back in one step."""
_MARGIN = 20
"""Divisor of a budget for the room of writes between two runs of retention, and of the pages that may be free."""
_AMPLE = 1 << 30
"""Free bytes from which no transaction needs a limit."""
_MAX_PAGES = 1073741823
"""Greatest number of pages that every SQLite allows."""
FRAME_HEADER = 24
"""Bytes before each page in the log."""
_LARGE = 4
"""Factor by which the log must exceed its limit before it is reported."""
_GATHERED = 1.0
"""Seconds between two commits of background jobs while the log cannot be emptied."""
_PAGES = 256
"""Pages of a copy between two reports of progress."""
_READ_LOCKS = range(123, 128)
"""Bytes of the shared-memory file of which a reader locks one. See "WAL-mode File Format", section 2.3.1."""
_LOCKS = Path("/proc/locks")
_PROCESSES = Path("/proc")
# Corrections by a console or an agent do not count: they are no activity of the robot.
_LAST = """
    SELECT (SELECT created_at FROM memories ORDER BY id DESC LIMIT 1),
    (SELECT max(last_seen) FROM objects WHERE last_seen BETWEEN :since AND :now),
    (SELECT max(observed_at) FROM path_points WHERE observed_at BETWEEN :since AND :now),
    (SELECT max(observed_at) FROM occupancy_grids WHERE observed_at BETWEEN :since AND :now)
"""
_CHECKPOINTS, _PAUSE = 50, 0.02
"""Attempts at a checkpoint while another one runs, and seconds between them."""


class DiskRoom:
    """The room on the disk of a file, for the connection that writes to it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = None if str(path) == IN_MEMORY else path
        self._page = int(connection.execute("PRAGMA page_size").fetchone()[0])
        self._room: _Room | None = None
        self._limit = _MAX_PAGES

    def look(self) -> None:
        """Look at the disk and the file, in a transaction that has begun."""
        self._room = None
        if self._path is not None:
            (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
            with suppress(OSError):
                disk = shutil.disk_usage(self._path.parent)
                self._room = _Room(disk.total, disk.free, self._page, pages, self._path.stat().st_size)

    def refusal(self) -> sqlite3.OperationalError | None:
        """Return an error for jobs that free no room; None if all jobs may write."""
        if self._room is None or self._room.free_bytes >= self._room.reserve:
            return None
        free, reserve = max(self._room.free_bytes, 0), self._room.reserve
        return sqlite3.OperationalError(
            f"the disk is full but for {free:,} bytes, and the last {reserve:,} are left to forgetting and purging"
        )

    def limit(self) -> None:
        """Limit what the transaction may add to the file, so that the log can be emptied into it.

        Raises:
            sqlite3.OperationalError: the last bytes of the disk are needed to empty the log.
        """
        room = self._room
        if room is None:
            return
        if room.owed and room.free_bytes < room.reserve:
            raise sqlite3.OperationalError(
                f"the disk is full: its last {room.free:,} bytes are needed by the write-ahead log, which cannot be "
                "emptied while somebody reads an older state of the file"
            )
        self._set_limit(room.max_pages if room.free_bytes < _AMPLE else _MAX_PAGES)

    def lift_limit(self) -> None:
        """Let the file grow as far as the disk lets it, for what runs in no transaction."""
        self._set_limit(_MAX_PAGES)

    def _set_limit(self, pages: int) -> None:
        if pages != self._limit:
            self._connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
            self._limit = pages

    def after_commit(self) -> None:
        """Give the room of the log back if room is scarce, as soon as the readers of the log are done."""
        free = None if self._path is None else free_bytes(self._path)
        if free is not None and free < _SCARCE:
            self.make_room()

    def make_room(self) -> None:
        """Write the log back into the file and give its room back."""
        # What is committed is safe in the log; if it cannot be emptied now, the next commit asks again.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class _Room(NamedTuple):
    """A disk and the file on it, in bytes."""

    total: int
    free: int
    page: int
    pages: int
    written: int
    """The file without what is in its log alone."""

    @property
    def owed(self) -> int:
        """Return by how much the file grows when its log is emptied."""
        return max(self.page * self.pages - self.written, 0)

    @property
    def free_bytes(self) -> int:
        """Return what is free once the log is emptied."""
        return self.free - self.owed

    @property
    def reserve(self) -> int:
        """Return what only jobs that free room may use."""
        return reserve_of(self.total)

    @property
    def max_pages(self) -> int:
        """Return how many pages the file may have, each of which needs room in the log too."""
        return min(self.pages + max(self.free_bytes, 0) // (2 * self.page + FRAME_HEADER), _MAX_PAGES)


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


class FileSize(NamedTuple):
    """The pages of a file, without its write-ahead log."""

    page: int
    """Bytes of a page."""
    pages: int
    free: int

    @property
    def used_bytes(self) -> int:
        """Return the bytes of the pages in use."""
        return self.page * (self.pages - self.free)


def file_size(snapshot: Snapshot) -> FileSize:
    """Return the size that the connection sees, which the file has after the next checkpoint."""
    names = ("page_size", "page_count", "freelist_count")
    return FileSize(*(int(snapshot.row(f"PRAGMA {name}")[0]) for name in names))


def pages_limit(limit: int) -> int:
    """Return how many bytes of pages may be in use, so that the file with its log stays within a limit."""
    return file_limit(limit) - limit // _MARGIN


def file_limit(limit: int) -> int:
    """Return how many bytes the file may have, so that there is room for its log within a limit."""
    return limit - log_limit(limit)


def log_limit(limit: int) -> int:
    """Return how many bytes the log may have within a limit for both."""
    return min(LOG_LIMIT, limit // 10)


def limit_log(connection: sqlite3.Connection, limit: int) -> None:
    """Keep the log within its share of a limit, on the connection that writes."""
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute(f"PRAGMA journal_size_limit = {log_limit(limit)}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {max(log_limit(limit) // page // 2, 1)}").fetchall()


def to_give_back(snapshot: Snapshot, limit: int | None) -> int:
    """Return how many free pages to give back in one step; with its log the file may have `limit` bytes."""
    if snapshot.row("PRAGMA auto_vacuum")[0] != INCREMENTAL:
        return 0
    size = file_size(snapshot)
    surplus = size.free - size.pages // _MARGIN
    if limit is not None:
        surplus = max(surplus, size.pages - file_limit(limit) // size.page)
    return max(min(surplus, size.free, _STEP), 0)


def give_back(transaction: Transaction, pages: int) -> bool:
    """Cut free pages off the end of the file; return whether it has fewer now."""
    before = file_size(transaction).pages
    # SQLite moves a page for each row that is read.
    transaction.rows(f"PRAGMA incremental_vacuum({pages})")
    return file_size(transaction).pages < before


def cut_file(connection: sqlite3.Connection) -> None:
    """Shorten the file on the disk by pages that were given back and that no reader needs; in no transaction."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log back into the file and cut it; return whether it is empty now, so that no reader needs it."""
    # SQLite does not wait for a checkpoint of others (-1).
    for _ in range(_CHECKPOINTS):
        busy, frames, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy or frames >= 0:
            break
        time.sleep(_PAUSE)
    return not busy


def is_read_elsewhere(connection: sqlite3.Connection) -> bool:
    """Tell at once whether another process reads or writes the file now; empty the log if none does.

    To be called without a transaction.
    """
    with without_patience(connection):
        return not empty_log(connection)


class LogWatch:
    """Empties the log of a database when it is far too large. For one thread at a time.

    Args:
        path: The database.
        limit: Gives the bytes that file and log may have together, 0 for any.
        write_alone: Runs a job with the connection of the writer.
        gather: Lets background jobs wait for some seconds, to be committed together.
    """

    def __init__(
        self,
        path: Path,
        limit: Callable[[], int],
        write_alone: Callable[[Callable[[sqlite3.Connection], bool]], Future[bool]],
        gather: Callable[[float], None],
    ) -> None:
        self._path = path
        self._limit = limit
        self._write_alone = write_alone
        self._gather = gather
        self._log = Path(f"{path}-wal")
        self._held_since: float | None = None

    def update(self) -> bool:
        """Empty the log if it is far too large; return that nothing is left to do.

        Raises:
            LogHeldError: another process reads an older state.
        """
        if not self._log.exists():
            return False
        is_large = self._log.stat().st_size > _LARGE * log_limit(self._limit() or 2**62)
        if is_large and self._write_alone(is_read_elsewhere).result():
            self._gather(_GATHERED)
            if self._held_since is None:
                self._held_since = time.monotonic()
            duration = time.monotonic() - self._held_since
            raise LogHeldError(self._log, self._log.stat().st_size, readers(self._path), duration)
        self._held_since = None
        self._gather(0.0)
        return False


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


@dataclass(frozen=True)
class Activity:
    """Writes to a file, and the programs that have it open."""

    answered_at: int
    """Time by the clock of this machine, in nanoseconds since the epoch."""
    last_written_at: int | None
    """Time in nanoseconds at which the last memory, sighting, pose or map was stored; None if there is none.

    Sightings, poses and maps of a simulated clock, and those that are stamped later than now, do not count.
    """
    free_bytes: int | None
    """Room on the disk of the file; None if it is not known."""
    programs: tuple[str, ...] | None
    """Other programs on this machine that have the file open, as `memory_node (1234)`; None if that is not known.

    Programs in another container or on another machine are not seen.
    """


def read_activity(snapshot: Snapshot, path: Path) -> Activity:
    """Return the activity on the file of a snapshot."""
    now = time.time_ns()
    created_at, *stamps = snapshot.row(_LAST, {"since": comparable_since(now), "now": now})
    times = [stamp for stamp in (created_at and nanoseconds(created_at), *stamps) if stamp]
    return Activity(now, max(times, default=None), free_bytes(path), _programs(path))


def _programs(path: Path) -> tuple[str, ...] | None:
    # SQLite holds a lock on a file with a write-ahead log as long as it is open. If the lock of this process is not
    # listed, the system lists no locks of this file.
    try:
        locks = locks_on(path)
    except OSError:
        return None
    own_file = next((file for process, file, _ in locks if process == os.getpid()), None)
    if own_file is None:
        return None
    process_ids = {process for process, file, _ in locks if file == own_file} - {os.getpid()}
    return tuple(f"{program(process)} ({process})" for process in sorted(process_ids))


def locks_on(path: Path) -> list[tuple[int, str, int]]:
    """Return the locks on a file, as far as Linux lists them: the process, device and inode, and the first byte.

    Raises:
        OSError: there is no such file, or no list.
    """
    inode = path.stat().st_ino
    # 1: POSIX ADVISORY READ 77 fd:01:123456 124 124
    rows = [line.split()[-4:-1] for line in _LOCKS.read_text().splitlines()]
    locks = [(int(process), file, int(begin)) for process, file, begin in rows if file.endswith(f":{inode}")]
    return [lock for lock in locks if lock[0] > 0]  # processes of other containers have no number here


def program(process: int) -> str:
    """Return the name of the program that a process runs: of a script rather than of its interpreter."""
    try:
        words = (_PROCESSES / str(process) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "unknown"
    is_python = Path(words[0]).name.startswith("python")
    return Path((_script(words[1:]) if is_python else "") or words[0]).name or "unknown"


def _script(words: Iterable[str]) -> str:
    # The script or module that an interpreter of Python runs; empty for code that it was given.
    rest = iter(words)
    for word in rest:
        if word in ("-X", "-W"):
            next(rest, "")
        elif word == "-c":
            return ""
        elif not word.startswith("-"):
            return word
    return ""


def copy_into(connection: sqlite3.Connection, path: Path) -> None:
    """Copy the database of a connection into an empty file that its owner alone may read.

    Raises:
        OSError: the file cannot be made.
        sqlite3.Error: it cannot be written.
    """
    create_empty(path)
    free = shutil.disk_usage(path.parent).free
    with closing(sqlite3.connect(path)) as target:
        try:
            if (tell := listener()) is None:
                connection.backup(target)
            else:
                _copy_in_pieces(connection, target, tell)
        except sqlite3.Error as error:
            if not is_full(error):
                raise
            # SQLite does not say which disk: that of the copy, since what is copied is only read.
            pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            words = (
                f"the disk is full on which {str(path)!r} lies: {free:,} bytes are free, and it takes {pages * size:,}"
            )
            raise sqlite3.OperationalError(words) from error


def _copy_in_pieces(connection: sqlite3.Connection, target: sqlite3.Connection, tell: Progress) -> None:
    # In one transaction, so that the copy need not begin again when another connection writes.
    is_own = not connection.in_transaction
    if is_own:
        connection.execute("BEGIN")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.backup(target, pages=_PAGES, progress=lambda status, left, total: tell(total - left, total))
    finally:
        if is_own:
            connection.execute("ROLLBACK")


def back_up(connection: sqlite3.Connection, path: Path) -> None:
    """Copy the database into a new file, which appears only when it is complete.

    Raises:
        FileExistsError: a file with that name exists; it stays as it is.
        OSError: the file cannot be made.
        sqlite3.Error: it cannot be written.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        copy_into(connection, part)
        part.rename(path)
    finally:
        for name in (part, *(part.with_name(f"{part.name}-{end}") for end in ("wal", "shm", "journal"))):
            name.unlink(missing_ok=True)
