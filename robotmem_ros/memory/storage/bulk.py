"""Insert and read many rows with few calls of SQLite.

Each call releases Python's lock and waits to take it again. Row by row, a large insert or a recall would wait a
thousand times while other threads work.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

_ROWS = (64, 16)
"""Rows in one statement. Fewer are inserted one by one: SQLite keeps what a statement of many rows may have to undo."""


def insert(connection: sqlite3.Connection, into: str, row: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows in their order; `into` is `table (column, ...)`, `row` the values of one row, `(?, ...)`."""
    for size in _ROWS:
        whole = len(rows) - len(rows) % size
        if whole:
            sql = f"INSERT INTO {into} VALUES {', '.join([row] * size)}"
            for start in range(0, whole, size):
                connection.execute(sql, tuple(chain.from_iterable(rows[start : start + size])))
            rows = rows[whole:]
    if rows:
        connection.executemany(f"INSERT INTO {into} VALUES {row}", rows)


def listed(values: Iterable[int]) -> str:
    """Return integers as a JSON array, for `IN (SELECT value FROM json_each(?))`."""
    return f"[{','.join(map(str, values))}]"  # for a few, json.dumps() takes five times as long


def delete(
    connection: sqlite3.Connection, table: str, column: str, values: Collection[int], *, returning: str = ""
) -> list[Any]:
    """Delete the rows that have one of these values in a column; `RETURNING ...` gives columns of them."""
    sql = f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?)) {returning}"
    return connection.execute(sql, (listed(values),)).fetchall() if values else []


def read(connection: sqlite3.Connection, sql: str, arguments: Sequence[object], *names: str) -> list[list[Any]]:
    """Return these columns of a query, each with its rows in the order of the query. No value may be a blob."""
    return [json.loads(column) for column in _gathered(connection, sql, arguments, names)]


def array(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> npt.NDArray[np.int64]:
    """Return the column `id` of a query that may have very many rows, in the order of the query."""
    (text,) = _gathered(connection, sql, arguments, ("id",))
    return np.fromstring(text[1:-1], np.int64, sep=",")


def ids(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> list[int]:
    """Return the column `id` of a query, in the order of the query."""
    return read(connection, sql, arguments, "id")[0]


def _gathered(
    connection: sqlite3.Connection, sql: str, arguments: Sequence[object], names: Sequence[str]
) -> Sequence[str]:
    # JSON numbers arrive in half of the time that group_concat() takes.
    gathered = ", ".join(f"json_group_array({name})" for name in names)
    row: Sequence[str] = connection.execute(f"SELECT {gathered} FROM ({sql})", arguments).fetchone()
    return row
