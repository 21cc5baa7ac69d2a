"""Overwrite the traces that deletes leave in the file.

A deleted row is gone from every table, and SQLite zeroes its bytes (PRAGMA secure_delete). Traces may remain: FTS5
keeps the words of deleted texts in its segments until they are merged, the nodes of an R*Tree keep the cells they
had, the gaps inside of pages keep cells that were moved, and the write-ahead log keeps pages as they were. So the text
index is merged into one segment, the nodes are cleared behind their cells, every page is written anew (VACUUM), and the
log is emptied into the file. Copies beside the file go as well: backups of migrations.

Each step may be cut off: what is not done yet is known from the settings, and is done again from the beginning.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from ..errors import PurgeUnfinishedError, StorageError
from . import purge_rows, table_rows
from .connection import IN_MEMORY, INCREMENTAL
from .disk import empty_log, file_size, free_bytes, give_back, is_full, to_give_back
from .snapshot import Snapshot, Transaction

Connected = Callable[[], AbstractContextManager[sqlite3.Connection]]
_FRAME_HEADER = 24
"""Bytes before each page in the log."""
_NODE_HEADER = 4
_CELL = 40
"""Bytes of a cell of `objects_rtree`: 8 of a rowid, and 4 of each coordinate; see "file format" in SQLite's rtree.c."""
_CLEAR_NODES = "UPDATE objects_rtree_node SET data = cleared_node(data) WHERE data <> cleared_node(data)"
COPIES = ("{name}.v*.bak",)
"""Patterns of files beside a database that hold parts of it and are not needed."""


def secure_erase(connection: sqlite3.Connection, path: Path, connected: Connected) -> None:
    """Remove the traces of all deleted rows.

    Args:
        connection: The writer's, without a transaction.
        path: The database.
        connected: Opens another connection, since VACUUM needs settings with which the writer's would lose its tables.

    Raises:
        PurgeUnfinishedError: another process holds the file, or the disk is full; the rows stay deleted, and this must
            be called again.
        sqlite3.Error: the file could not be written, or is damaged.
    """
    transaction = Transaction(connection)
    deletion = purge_rows.unfinished(transaction)
    for copy in copies(path):
        copy.unlink(missing_ok=True)
    try:
        if str(path) != IN_MEMORY:
            _check_room(connection, path)
        _delete_derived(connection)
        if str(path) != IN_MEMORY:
            _write_anew(connection, path, connected)
        # What another process has purged since is not overwritten yet.
        purge_rows.note_finished(transaction, deletion)
    except (sqlite3.OperationalError, StorageError) as cause:
        if "locked" in str(cause):
            raise PurgeUnfinishedError(path, "another process writes to the file") from cause
        if is_full(cause):
            raise _no_room(connection, path) from cause
        raise


def check_pages(snapshot: Snapshot) -> None:
    """Check that the file is sound: of a damaged page, not all rows would come into the new one.

    Raises:
        sqlite3.Error: it is damaged.
    """
    (message,) = snapshot.row("PRAGMA quick_check(1)")
    if message != "ok":
        raise sqlite3.DatabaseError(f"database disk image is malformed ({message.splitlines()[-1]})")


def copies(path: Path) -> list[Path]:
    """Return the files beside a database that hold parts of it and are not needed."""
    if str(path) == IN_MEMORY:
        return []
    return sorted(file for pattern in COPIES for file in path.parent.glob(pattern.format(name=_escape(path.name))))


def _check_room(connection: sqlite3.Connection, path: Path) -> None:
    # Before anything is written: other programs need the last bytes of the disk too.
    while not _has_room(connection, path):
        if not _give_back(connection):
            raise _no_room(connection, path)
        if not empty_log(connection):
            raise _is_read(path)


def _give_back(connection: sqlite3.Connection) -> bool:
    transaction = Transaction(connection)
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        return give_back(transaction, to_give_back(transaction, 0))


def _has_room(connection: sqlite3.Connection, path: Path) -> bool:
    free = free_bytes(path)
    return free is None or free >= _needed(connection)


def _needed(connection: sqlite3.Connection) -> int:
    # VACUUM writes each page to a file beside the database, and from there to the log.
    size = file_size(Transaction(connection))
    return (size.pages - size.free) * (2 * size.page + _FRAME_HEADER)


def _no_room(connection: sqlite3.Connection, path: Path) -> PurgeUnfinishedError:
    needed, free = _needed(connection), free_bytes(path) or 0
    return PurgeUnfinishedError(path, f"{needed:,} bytes are needed on its disk, and {free:,} are free", "make room")


def _delete_derived(connection: sqlite3.Connection) -> None:
    # What new pages would still have of deleted rows.
    transaction = Transaction(connection)
    purge_rows.delete_names(transaction)
    table_rows.drop_outdated_blocks(transaction)
    connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('optimize')")
    connection.create_function("cleared_node", 1, _cleared_node, deterministic=True)
    connection.execute(_CLEAR_NODES)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'").fetchone():
        connection.execute("DELETE FROM sqlite_stat4")  # samples of values


def _write_anew(connection: sqlite3.Connection, path: Path, connected: Connected) -> None:
    if not empty_log(connection):
        raise _is_read(path)
    with connected() as own:
        # RAM may be too small for all pages, and another disk is neither known to have room nor meant for them.
        own.execute("PRAGMA temp_store = FILE")
        own.execute(f"PRAGMA temp_store_directory = {_quoted(path.parent)}")
        own.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")  # another program may have made the file
        try:
            own.execute("VACUUM")
        finally:
            own.execute("PRAGMA temp_store_directory = ''")
    if not empty_log(connection):
        raise _is_read(path)


def _is_read(path: Path) -> PurgeUnfinishedError:
    return PurgeUnfinishedError(path, "another process reads an older state of the file")


def _cleared_node(data: bytes) -> bytes:
    cells = int.from_bytes(data[2:_NODE_HEADER], "big")
    return data[: _NODE_HEADER + cells * _CELL].ljust(len(data), b"\0")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _escape(name: str) -> str:
    # In a pattern, brackets of a name stand for themselves.
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
