"""Measure how full the file is, and shrink it."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from .connection import INCREMENTAL, LOG_LIMIT
from .snapshot import Snapshot, Transaction

_STEP = 64
"""Pages."""
_MARGIN = 20
"""A twentieth of a budget is for what is written until retention comes by, and a twentieth of the pages may be free."""


class FileSize(NamedTuple):
    """The pages of a file, without its write-ahead log."""

    page: int
    """Bytes of one."""
    pages: int
    free: int

    @property
    def used(self) -> int:
        """Return the bytes of the pages in use."""
        return self.page * (self.pages - self.free)


def file_size(snapshot: Snapshot) -> FileSize:
    """Return the size that the connection sees, which the file has after the next checkpoint."""
    names = ("page_size", "page_count", "freelist_count")
    return FileSize(*(int(snapshot.row(f"PRAGMA {name}")[0]) for name in names))


def pages_limit(limit: int) -> int:
    """Return how many bytes of pages may be in use, so that the file with its log stays within a limit."""
    return file_limit(limit) - limit // _MARGIN


def file_limit(limit: int) -> int:
    """Return how many bytes the file may have, so that there is room for its log within a limit."""
    return limit - log_limit(limit)


def log_limit(limit: int) -> int:
    """Return how many bytes the log may have within a limit for both."""
    return min(LOG_LIMIT, limit // 10)


def limit_log(connection: sqlite3.Connection, limit: int) -> None:
    """Let the log grow to the share that it has of a limit, not more; on the connection that writes."""
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute(f"PRAGMA journal_size_limit = {log_limit(limit)}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {max(log_limit(limit) // page // 2, 1)}").fetchall()


def to_give_back(snapshot: Snapshot, limit: int | None) -> int:
    """Return how many free pages to give back in one step; with its log the file may have `limit` bytes."""
    if snapshot.row("PRAGMA auto_vacuum")[0] != INCREMENTAL:
        return 0
    size = file_size(snapshot)
    surplus = size.free - size.pages // _MARGIN
    if limit is not None:
        surplus = max(surplus, size.pages - file_limit(limit) // size.page)
    return max(min(surplus, size.free, _STEP), 0)


def give_back(transaction: Transaction, pages: int) -> None:
    """Cut free pages off the end of the file."""
    # It moves one page for each row that is asked for.
    transaction.rows(f"PRAGMA incremental_vacuum({pages})")


def cut_file(connection: sqlite3.Connection) -> None:
    """Cut what was given back off the file on the disk, as far as no reader needs it, outside of a transaction."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
