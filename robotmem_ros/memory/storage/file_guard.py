"""Notice that a file was taken away or cut off while it is open, and save its contents.

If an open file is removed or another file is moved onto it, the program writes to a file without a name, and all its
writes are lost when the program ends. A log that stays beside another file is worse: the next program that opens that
file writes the log into it. If the file is emptied or its end is cut off, the program goes on with the pages that it
still has in RAM, and what it writes is worth nothing without the others.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from ..errors import DatabaseLostError
from .backup import copy_into

_PERIOD = 1.0
"""Seconds between two looks at the path."""
_PAGES = ("page_count", "page_size")
_CUT = "it was cut off while it was open"
_LOG = logging.getLogger(__name__)


class FileGuard:
    """Compares the file at a path, and its log, with those that are open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        real = Path(os.path.realpath(path))
        self._identities = {file: _identity(file) for file in (path, real.with_name(f"{real.name}-wal"))}
        self._next_check = 0.0
        self._loss: DatabaseLostError | None = None
        self._is_saved = self._is_cut = False

    def happened(self) -> str:
        """Return what happened to the file or its log: it was taken away, replaced or emptied; empty if nothing did."""
        # Pages that are gone do not come back, whatever is written into the file.
        if self._is_cut:
            return _CUT
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
        problem = self.happened() or (_CUT if self._lacks_pages(connection) else "")
        self._is_cut = problem == _CUT
        if not problem:
            self._loss = None
        elif self._loss is None or (at_once and not self._is_saved):
            self._loss = DatabaseLostError(self._path, problem, self._save(connection))
            _LOG.error("%s", self._loss)
        return self._loss

    def _save(self, connection: sqlite3.Connection) -> str:
        is_there = _identity(self._path) == self._identities[self._path]
        copy = None if is_there and not self._is_cut else self._free_name()
        self._is_saved = False
        try:
            if copy is not None:
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                copy_into(connection, copy)
            if self._is_cut:
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

    def _lacks_pages(self, connection: sqlite3.Connection) -> bool:
        # Each page is in the file or in its log. Another process may give pages back between two looks, so look twice.
        with suppress(sqlite3.Error):  # each job raises it
            for _ in range(2):
                count, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _PAGES)
                if count * size <= sum(map(_size, self._identities)):
                    return False
            return True
        return False

    def _free_name(self) -> Path:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
        names = (
            f"{self._path.stem}.saved-{stamp}{end}{self._path.suffix}"
            for end in ("", *map("-{}".format, range(2, 1000)))
        )
        return next(file for name in names if not (file := self._path.with_name(name)).exists())


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
