"""Measure how full the file is, and shrink it."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from .connection import INCREMENTAL, LOG_LIMIT
from .snapshot import Snapshot, Transaction

_STEP = 64
"""Maximum number of pages to give back in one step."""
_MARGIN = 20
"""Divisor of a budget for the room of writes between two runs of retention, and of the pages that may be free."""


class FileSize(NamedTuple):
    """The pages of a file, without its write-ahead log."""

    page: int
    """Bytes of a page."""
    pages: int
    free: int

    @property
    def used_bytes(self) -> int:
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
    """Keep the log within its share of a limit, on the connection that writes."""
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


def give_back(transaction: Transaction, pages: int) -> bool:
    """Cut free pages off the end of the file; return whether it has fewer now."""
    before = file_size(transaction).pages
    # SQLite moves a page for each row that is read.
    transaction.rows(f"PRAGMA incremental_vacuum({pages})")
    return file_size(transaction).pages < before


def cut_file(connection: sqlite3.Connection) -> None:
    """Shorten the file on the disk by pages that were given back and that no reader needs; in no transaction."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
