"""Reads many rows with one call of SQLite.

Each call gives up Python's lock and takes it again, for which other threads make it wait: row by row, a recall would
wait a thousand times while perceptions pour in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_BETWEEN = "\n"


def read(connection: sqlite3.Connection, sql: str, arguments: Sequence[object], *names: str) -> list[list[str]]:
    """The columns of these names of a query, as text, each with its rows in the order of the query.

    No value may be NULL or contain a line feed.
    """
    gathered = ", ".join(f"group_concat({name}, char(10))" for name in names)
    row = connection.execute(f"SELECT count(*), {gathered} FROM ({sql})", arguments).fetchone()
    return [str(column).split(_BETWEEN) if row[0] else [] for column in row[1:]]


def array(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> npt.NDArray[np.int64]:
    """The column `id` of a query, in the order of the query, where there may be very many."""
    text = connection.execute(f"SELECT group_concat(id, char(10)) FROM ({sql})", arguments).fetchone()[0]
    return np.fromstring(text or "", np.int64, sep=_BETWEEN)


def ids(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> list[int]:
    """The column `id` of a query, in the order of the query."""
    return list(map(int, read(connection, sql, arguments, "id")[0]))
