"""Overwrite what deletes leave behind in the file.

A deleted row is gone from every table, and yet its bytes may remain: FTS5 keeps the words of deleted texts in its
segments until they are merged, the nodes of an R*Tree keep the cells they had, freed pages and the gaps inside of pages
keep what stood there, and the write-ahead log keeps pages as they were. So the text index is merged into one segment,
the nodes are cleared behind their cells, the whole file is rewritten, and the log is emptied. Copies beside the file
go as well: backups of migrations.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path

from ..errors import PurgeUnfinishedError
from . import text_rows
from .connection import IN_MEMORY
from .disk_room import is_full
from .file_size import file_size, give_back
from .purge_rows import UNFINISHED, delete_names

_NO_ROOM = "the disk has no room to rewrite the file", "make room"
_COPIES = 1.25
_GIVEN_BACK = 16
"""Pages in one step: each moves one page, which takes room in the log first."""
_NODE_HEADER, _CELL = 4, 32
"""Bytes; a cell is a rowid of 8 bytes and 6 coordinates of 4. See "file format" in SQLite's rtree.c."""
COPIES = ("{name}.v*.bak",)
"""Patterns of the files beside a database that hold parts of it and can be done without."""


def secure_erase(connection: sqlite3.Connection, path: Path) -> None:
    """Remove the traces of all that was ever deleted, on a connection without a transaction.

    Raises:
        PurgeUnfinishedError: another process holds the file, or the disk is full; then what was deleted stays deleted,
            and this is to be done again.
        sqlite3.Error: the file could not be written.
    """
    try:
        delete_names(connection)
        for copy in copies(path):
            copy.unlink(missing_ok=True)
        if str(path) != IN_MEMORY and not _has_room(connection, path):
            # Rewriting would only fill the disk. The pages that were freed may make room for those that stay.
            _give_back_pages(connection)
            if not _has_room(connection, path):
                raise PurgeUnfinishedError(path, *_NO_ROOM)
        busy = str(path) != IN_MEMORY and _rewritten(connection)
    except sqlite3.OperationalError as cause:
        if "locked" in str(cause):
            raise PurgeUnfinishedError(path, "another process writes to the file") from cause
        if is_full(cause):
            raise PurgeUnfinishedError(path, *_NO_ROOM) from cause
        raise
    if busy:
        raise PurgeUnfinishedError(path, "another process reads an older state of the file")
    connection.execute("DELETE FROM settings WHERE name = ?", (UNFINISHED,))


def is_read_elsewhere(connection: sqlite3.Connection) -> bool:
    """Tell whether somebody reads or writes the file now, without waiting for that; the log is emptied if nobody does.

    To be called without a transaction.
    """
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        return _empty_log(connection)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(patience)}")


def copies(path: Path) -> list[Path]:
    """Return the files beside a database that hold parts of it and can be done without."""
    if str(path) == IN_MEMORY:
        return []
    return sorted(file for pattern in COPIES for file in path.parent.glob(pattern.format(name=_escaped(path.name))))


def _has_room(connection: sqlite3.Connection, path: Path) -> bool:
    # VACUUM copies all pages in use to a temporary file and from there to the log, and the merged text index goes
    # through the log before.
    is_shared = Path(tempfile.gettempdir()).stat().st_dev == path.parent.stat().st_dev
    needed = file_size(connection).used * (_COPIES + is_shared)
    return shutil.disk_usage(path.parent).free >= needed


def _give_back_pages(connection: sqlite3.Connection) -> None:
    while text_rows.merge(connection, whole=True):
        _empty_log(connection)
    free = file_size(connection).free
    while free:
        give_back(connection, _GIVEN_BACK)
        _empty_log(connection)
        before, free = free, file_size(connection).free
        if free == before:  # an older program made the file, and it cannot shrink in steps
            return


def _empty_log(connection: sqlite3.Connection) -> bool:
    # Returns whether a reader keeps the log from being emptied.
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy)


def _rewritten(connection: sqlite3.Connection) -> bool:
    # Returns whether a reader keeps the write-ahead log from being emptied.
    connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('optimize')")
    connection.create_function("cleared_node", 1, _cleared_node, deterministic=True)
    connection.execute("UPDATE positions_rtree_node SET data = cleared_node(data) WHERE data <> cleared_node(data)")
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'").fetchone():
        connection.execute("DELETE FROM sqlite_stat4")  # samples of values
    try:
        # The new file is made beside, and RAM may be too small for it.
        connection.execute("PRAGMA temp_store = FILE")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
    return _empty_log(connection)


def _cleared_node(data: bytes) -> bytes:
    cells = int.from_bytes(data[2:_NODE_HEADER], "big")
    return data[: _NODE_HEADER + cells * _CELL].ljust(len(data), b"\0")


def _escaped(name: str) -> str:
    # In a pattern, brackets of a name stand for themselves.
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
