"""Notice that a file was taken away while it is open, and save what is in it.

An open file goes on under its path's back: somebody who removes it, or moves another one onto it, leaves a program that
writes to a file without a name, and all of that is gone when the program ends. A log that stays beside another file is
worse: whoever opens that file next writes the log into it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from datetime import datetime, timezone
from pathlib import Path

from ..errors import DatabaseLostError
from .backup import copy_into

_PERIOD = 1.0
"""Seconds between two looks at the path."""
_LOG = logging.getLogger(__name__)


class FileGuard:
    """Compares the file at a path, and its log, with those that are open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        real = Path(os.path.realpath(path))
        self._opened = {file: _identity(file) for file in (path, real.with_name(f"{real.name}-wal"))}
        self._due = 0.0
        self._lost: DatabaseLostError | None = None
        self._is_saved = False

    def happened(self) -> str:
        """Return what happened to the file, or to its log; empty if it is the one that is open."""
        for (file, opened), name in zip(self._opened.items(), ("the file", "its log"), strict=True):
            if opened is not None and (now := _identity(file)) != opened:
                if now is not None:
                    return f"another file was moved onto {name} while it was open"
                return f"{name} was taken away while it was open" + ("" if file.parent.exists() else ", and its folder")
        return ""

    def check(self, connection: sqlite3.Connection, *, at_once: bool = False) -> DatabaseLostError | None:
        """Look at the path, at most once a second unless `at_once`; return why nothing is written any more.

        The first time that it is not there, what is in the open file is saved beside. The connection must be in no
        transaction.
        """
        now = time.monotonic()
        if now < self._due and not at_once:
            return self._lost
        self._due = now + _PERIOD
        if not (why := self.happened()):
            self._lost = None
        elif self._lost is None or (at_once and not self._is_saved):
            self._lost = DatabaseLostError(self._path, why, self._saved(connection))
            _LOG.error("%s", self._lost)
        return self._lost

    def _saved(self, connection: sqlite3.Connection) -> str:
        copy = None if _identity(self._path) == self._opened[self._path] else self._free_name()
        self._is_saved = False
        try:
            if copy is not None:
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                copy_into(connection, copy)
            # So that the old log is empty, and cannot be written into a file that was moved here.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (OSError, sqlite3.Error) as error:
            return f"what it holds could not be saved ({error})"
        self._is_saved = True
        return "what it holds is " + ("in the file" if copy is None else f"saved in {str(copy)!r}")

    def _free_name(self) -> Path:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
        names = (
            f"{self._path.stem}.saved-{stamp}{end}{self._path.suffix}"
            for end in ("", *map("-{}".format, range(2, 1000)))
        )
        return next(file for name in names if not (file := self._path.with_name(name)).exists())


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
