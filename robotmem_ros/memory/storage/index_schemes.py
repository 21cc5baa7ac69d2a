"""Note in the file by which scheme its text index reads texts, and rebuild it for a program with another scheme.

Programs that write to one file must agree on this, or a program does not find the memories of another. So the index is
rebuilt only while no other program has the file open.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ..errors import DatabaseUnusableError
from ..text import tokens
from . import indexing
from .snapshot import Transaction

_PAUSE = 0.05


def note_in_new(connection: sqlite3.Connection) -> None:
    """Note the scheme of this program in a database that holds no memory and no scheme yet."""
    if _scheme(connection) is None and not connection.execute("SELECT 1 FROM memories LIMIT 1").fetchone():
        connection.execute("INSERT INTO settings VALUES ('tokens', ?) ON CONFLICT DO NOTHING", (tokens.scheme(),))


def is_current(connection: sqlite3.Connection) -> bool:
    """Return whether the text index is as this program makes it."""
    return _scheme(connection) == tokens.scheme()


def tokens_missing(connection: sqlite3.Connection) -> str:
    """Return why this program, which only reads, does not find all words of a file; empty if it does."""
    value = _scheme(connection)
    if value == tokens.scheme():
        return ""
    return (
        f"the words of the file are indexed as {value!r} and asked for as {tokens.scheme()!r}, so not all of them are "
        "found: open it once with a program that may write"
    )


def renew(path: Path, connect: Callable[[], sqlite3.Connection], timeout: float) -> None:
    """Rebuild a text index of another scheme, as soon as no other program has the file open.

    `connect` gives new connections that do not wait for locks.

    Raises:
        DatabaseUnusableError: another program still has it open after `timeout` seconds.
        sqlite3.Error: the file cannot be written.
    """
    deadline = time.monotonic() + timeout
    while True:
        # A new connection for each attempt: one that waits for the lock keeps others from opening the file.
        with closing(connect()) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as cause:
                if "locked" not in str(cause):
                    raise
                if time.monotonic() > deadline:
                    raise _in_use(path, connection) from cause
            else:
                _rebuild(connection)
                return
        time.sleep(_PAUSE)


def _rebuild(connection: sqlite3.Connection) -> None:
    with connection:
        if not is_current(connection):
            indexing.rebuild(Transaction(connection), indexing.TEXTS)
            connection.execute("INSERT OR REPLACE INTO settings VALUES ('tokens', ?)", (tokens.scheme(),))


def _scheme(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE name = 'tokens'").fetchone()
    return str(row[0]) if row else None


def _in_use(path: Path, connection: sqlite3.Connection) -> DatabaseUnusableError:
    value, current = _scheme(connection), tokens.scheme()
    fault = f"is open in another program, its tokens are indexed as {value!r}, here as {current!r}"
    return DatabaseUnusableError(path, fault, "close that program, or give both the same version")
