"""Note in the file by which schemes its indexes read texts, and rebuild them for a program with other schemes.

Programs that write to one file must agree on this, or a program does not find the memories of another. So the indexes
are rebuilt only while no other program has the file open.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from .. import context_path
from ..errors import DatabaseUnusableError
from ..text import tokens
from . import indexing
from .snapshot import Transaction

_PAUSE = 0.05


class _Scheme(NamedTuple):
    setting: str
    """Name of the setting that holds the scheme of the file."""
    current: Callable[[], str]
    """The scheme by which this program reads texts."""
    read_by: Sequence[indexing.Index]


_SCHEMES = (
    _Scheme("tokens", tokens.scheme, (indexing.TEXTS,)),
    _Scheme("paths", context_path.scheme, (indexing.POSITIONS,)),
)


def note_in_new(connection: sqlite3.Connection) -> None:
    """Note the schemes of this program in a database that holds no memory and no scheme yet."""
    new_schemes = [scheme for scheme in _SCHEMES if _read_scheme(connection, scheme) is None]
    if not new_schemes or connection.execute("SELECT 1 FROM memories LIMIT 1").fetchone():
        return
    for scheme in new_schemes:
        connection.execute(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", (scheme.setting, scheme.current())
        )


def are_current(connection: sqlite3.Connection) -> bool:
    """Return whether the indexes are as this program makes them."""
    return not _outdated(connection)


def tokens_missing(connection: sqlite3.Connection) -> str:
    """Return why this program, which only reads, does not find all words of a file; empty if it does."""
    value = _read_scheme(connection, _SCHEMES[0])
    if value == tokens.scheme():
        return ""
    return (
        f"the words of the file are indexed as {value!r} and asked for as {tokens.scheme()!r}, so not all of them are "
        "found: open it once with a program that may write"
    )


def renew(path: Path, connect: Callable[[], sqlite3.Connection], timeout: float) -> None:
    """Rebuild the indexes with another scheme, as soon as no other program has the file open.

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
        for scheme in _outdated(connection):
            for index in scheme.read_by:
                indexing.rebuild(Transaction(connection), index)
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (scheme.setting, scheme.current()))


def _outdated(connection: sqlite3.Connection) -> list[_Scheme]:
    return [scheme for scheme in _SCHEMES if _read_scheme(connection, scheme) != scheme.current()]


def _read_scheme(connection: sqlite3.Connection, scheme: _Scheme) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (scheme.setting,)).fetchone()
    return str(row[0]) if row else None


def _in_use(path: Path, connection: sqlite3.Connection) -> DatabaseUnusableError:
    scheme = _outdated(connection)[0]
    value = _read_scheme(connection, scheme)
    fault = f"is open in another program, its {scheme.setting} are indexed as {value!r}, here as {scheme.current()!r}"
    return DatabaseUnusableError(path, fault, "close that program, or give both the same version")
