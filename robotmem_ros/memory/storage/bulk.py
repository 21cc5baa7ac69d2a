"""Inserts many rows with few calls of SQLite.

Each call gives up Python's lock and takes it again, for which other threads make it wait: row by row, they would let a
large insert wait a thousand times.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain

_SIZES = (64, 8, 1)
"""Rows in one statement: few sizes, so that the statements stay prepared."""


def insert(connection: sqlite3.Connection, into: str, row: str, rows: Sequence[Sequence[object]]) -> None:
    """Inserts rows, in their order: `into` is `table (column, ...)`, `row` the values of one, `(?, ...)`."""
    done = 0
    for size in _SIZES:
        sql = f"INSERT INTO {into} VALUES {', '.join([row] * size)}"
        while len(rows) - done >= size:
            connection.execute(sql, tuple(chain.from_iterable(rows[done : done + size])))
            done += size
