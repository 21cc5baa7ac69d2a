"""Note in the file how its indexes cut and read texts, and rebuild them for a program that does it in another way.

Programs that write to one file must agree on this, or one does not find what the other stores: the statements of
Chinese facts are read by jieba only where jieba is installed. So the indexes are rebuilt only while no other program
has the file open.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..errors import DatabaseUnusableError
from ..text import scripts, statement, tokens
from . import indexing
from .snapshot import Transaction

_PAUSE = 0.05


class _Scheme(NamedTuple):
    setting: str
    """Name of the setting that notes it."""
    current: Callable[[], str]
    """How this program reads texts."""
    read_by: indexing.Index


_SCHEMES = (
    _Scheme("tokens", tokens.scheme, indexing.TEXTS),
    _Scheme("statements", statement.scheme, indexing.FACTS),
)


def note_in_new(connection: sqlite3.Connection) -> None:
    """Note the schemes of this program in a database that holds no memory and no scheme yet."""
    missing = [scheme for scheme in _SCHEMES if _noted(connection, scheme) is None]
    if not missing or connection.execute("SELECT 1 FROM memories LIMIT 1").fetchone():
        return
    for scheme in missing:
        connection.execute(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", (scheme.setting, scheme.current())
        )


def are_current(connection: sqlite3.Connection) -> bool:
    """Return whether the indexes are as this program makes them."""
    return not _outdated(connection)


def tokens_missing(connection: sqlite3.Connection) -> str:
    """Return why this program, which only reads, does not find all words of a file; empty if it does."""
    noted = _noted(connection, _SCHEMES[0])
    if noted == tokens.scheme():
        return ""
    return (
        f"the words of the file are indexed as {noted!r} and asked for as {tokens.scheme()!r}, so not all of them are "
        "found: open it once with a program that may write"
    )


def renew(path: Path, connect: Callable[[], sqlite3.Connection], timeout: float) -> None:
    """Rebuild the indexes that this program makes in another way, as soon as no other program has the file open.

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
    try:
        for scheme in _outdated(connection):
            indexing.rebuild(Transaction(connection), scheme.read_by)
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (scheme.setting, scheme.current()))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _outdated(connection: sqlite3.Connection) -> list[_Scheme]:
    return [scheme for scheme in _SCHEMES if _noted(connection, scheme) != scheme.current()]


def _noted(connection: sqlite3.Connection, scheme: _Scheme) -> str | None:
    found = connection.execute("SELECT value FROM settings WHERE name = ?", (scheme.setting,)).fetchone()
    return str(found[0]) if found else None


def _in_use(path: Path, connection: sqlite3.Connection) -> DatabaseUnusableError:
    scheme = _outdated(connection)[0]
    noted = _noted(connection, scheme)
    why = f"is open in another program, and its {scheme.setting} are indexed as {noted!r}, here as {scheme.current()!r}"
    return DatabaseUnusableError(path, why, f"close that program, or give both the same packages{_advice(noted)}")


def _advice(noted: str | None) -> str:
    return " (pip install jieba)" if "jieba" in (noted or "") and not scripts.has_jieba() else ""
