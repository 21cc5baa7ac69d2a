"""Overwrite the traces that deletes leave in the file.

A deleted row is gone from every table, and SQLite zeroes its bytes (PRAGMA secure_delete). Traces may remain: FTS5
keeps the words of deleted texts in its segments until they are merged, the nodes of an R*Tree keep the cells they
had, the gaps inside of pages keep cells that were moved, and the write-ahead log keeps pages as they were. So the text
index is merged into one segment, the nodes are cleared behind their cells, the log is emptied, and the gaps are zeroed
where they are. Copies beside the file go as well: backups of migrations.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from ..errors import PurgeUnfinishedError
from . import block_rows, purge_rows, unused_bytes
from .connection import IN_MEMORY, INCREMENTAL
from .disk_room import is_full
from .file_size import give_back, to_give_back
from .snapshot import Snapshot, Transaction

_ATTEMPTS = 5
"""Attempts to lock the file before another process writes to the emptied log."""
_CHECKPOINTS, _PAUSE = 50, 0.02
"""Attempts at a checkpoint while another one runs, and seconds between them."""
_NODE_HEADER = 4
_CELL = 40
"""Bytes of a cell of `objects_rtree`: 8 of a rowid, and 4 of each coordinate; see "file format" in SQLite's rtree.c."""
_CLEAR_NODES = "UPDATE objects_rtree_node SET data = cleared_node(data) WHERE data <> cleared_node(data)"
COPIES = ("{name}.v*.bak",)
"""Patterns of files beside a database that hold parts of it and are not needed."""


def secure_erase(connection: sqlite3.Connection, path: Path) -> None:
    """Remove the traces of all deleted rows, on a connection without a transaction.

    Raises:
        PurgeUnfinishedError: another process holds the file, or the disk is full; the rows stay deleted, and this must
            be called again.
        sqlite3.Error: the file could not be written, or is damaged.
    """
    transaction = Transaction(connection)
    try:
        purge_rows.delete_names(transaction)
        block_rows.drop_outdated(transaction)
        for copy in copies(path):
            copy.unlink(missing_ok=True)
        _merge_and_shrink(connection)
        if str(path) == IN_MEMORY:
            purge_rows.note_finished(Transaction(connection))
        else:
            _zero_gaps(connection, path)
    except sqlite3.OperationalError as cause:
        if "locked" in str(cause):
            raise PurgeUnfinishedError(path, "another process writes to the file") from cause
        if is_full(cause):
            raise PurgeUnfinishedError(path, "the disk has no room for its log", "make room") from cause
        raise


def check_pages(snapshot: Snapshot) -> None:
    """Check that the file is sound: on a damaged page, unused bytes could not be told from used bytes.

    Raises:
        sqlite3.Error: it is damaged.
    """
    (message,) = snapshot.row("PRAGMA quick_check(1)")
    if message != "ok":
        raise sqlite3.DatabaseError(f"database disk image is malformed ({message.splitlines()[-1]})")


def is_read_elsewhere(connection: sqlite3.Connection) -> bool:
    """Tell at once whether another process reads or writes the file now; empty the log if none does.

    To be called without a transaction.
    """
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        return _empty_log(connection)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(patience)}")


def copies(path: Path) -> list[Path]:
    """Return the files beside a database that hold parts of it and are not needed."""
    if str(path) == IN_MEMORY:
        return []
    return sorted(file for pattern in COPIES for file in path.parent.glob(pattern.format(name=_escape(path.name))))


def _empty_log(connection: sqlite3.Connection) -> bool:
    # Returns whether a reader keeps the log from being emptied. SQLite does not wait for a checkpoint of others (-1).
    for _ in range(_CHECKPOINTS):
        busy, frames, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy or frames >= 0:
            break
        time.sleep(_PAUSE)
    return bool(busy)


def _merge_and_shrink(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('optimize')")
    connection.create_function("cleared_node", 1, _cleared_node, deterministic=True)
    connection.execute(_CLEAR_NODES)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'").fetchone():
        connection.execute("DELETE FROM sqlite_stat4")  # samples of values
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
        # Another program made the file, from a dump for instance. Without a pointer map its gaps cannot be told.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA temp_store = FILE")  # RAM may be too small for a new file
        connection.execute("VACUUM")
    transaction = Transaction(connection)
    while (pages := to_give_back(transaction, None)) and give_back(transaction, pages):
        pass


def _zero_gaps(connection: sqlite3.Connection, path: Path) -> None:
    for _ in range(_ATTEMPTS):
        if _empty_log(connection):
            raise PurgeUnfinishedError(path, "another process reads an older state of the file")
        # A page cached in RAM would be written with its old gaps.
        connection.execute("PRAGMA shrink_memory")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            is_still_empty = not Path(f"{path}-wal").stat().st_size
            if is_still_empty:
                _run(path)
                # The commit of this transaction tells other processes that their cached pages are out of date.
                purge_rows.note_finished(Transaction(connection))
        if is_still_empty:
            return
    raise PurgeUnfinishedError(path, "another process writes to the file")


def _run(path: Path) -> None:
    command = [sys.executable, "-I", unused_bytes.__file__, str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as cause:
        raise PurgeUnfinishedError(path, f"{command[0]!r} could not be started ({cause})", "mend that") from cause
    except subprocess.CalledProcessError as cause:
        raise sqlite3.DatabaseError(f"what is deleted could not be overwritten: {cause.stderr.strip()}") from cause


def _cleared_node(data: bytes) -> bytes:
    cells = int.from_bytes(data[2:_NODE_HEADER], "big")
    return data[: _NODE_HEADER + cells * _CELL].ljust(len(data), b"\0")


def _escape(name: str) -> str:
    # In a pattern, brackets of a name stand for themselves.
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
