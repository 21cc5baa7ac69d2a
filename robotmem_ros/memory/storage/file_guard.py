"""Notice that a file was taken away or cut off while it is open, and save its contents.

If an open file is removed or another file is moved onto it, the program writes to a file without a name, and all its
writes are lost when the program ends. A log that stays beside another file is worse: the next program that opens that
file writes the log into it. If the file is emptied or its end is cut off, the program goes on with the pages that it
still has in RAM, and what it writes is worth nothing without the others.

Each page of a state of the database is in the file, or in a frame of the log that no checkpoint has finished to write
into the file. A reader of that state keeps both from going away, so a page that is in neither was cut off. What tells
how far checkpoints came is read before the log, and the log before the size of the file, which grows meanwhile.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from ..errors import DatabaseLostError
from .backup import copy_into
from .log_loss import read_log

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
