"""Copy a database into a new file, with the contents of its log, while programs go on writing."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from .connection import create_empty
from .disk import is_full


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
            connection.backup(target)
        except sqlite3.Error as error:
            if not is_full(error):
                raise
            # SQLite does not say which disk: that of the copy, since what is copied is only read.
            pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            words = (
                f"the disk is full on which {str(path)!r} lies: {free:,} bytes are free, and it takes {pages * size:,}"
            )
            raise sqlite3.OperationalError(words) from error


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
