"""Reads many rows with one call of SQLite.

Each call gives up Python's lock and takes it again, for which other threads make it wait: row by row, a recall would
wait a thousand times while perceptions pour in. As JSON numbers come in half of the time that group_concat() takes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def read(connection: sqlite3.Connection, sql: str, arguments: Sequence[object], *names: str) -> list[list[Any]]:
    """The columns of these names of a query, each with its rows in the order of the query. No value may be a blob."""
    return [json.loads(column) for column in _gathered(connection, sql, arguments, names)]


def array(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> npt.NDArray[np.int64]:
    """The column `id` of a query, whole numbers in the order of the query, where there may be very many."""
    (text,) = _gathered(connection, sql, arguments, ("id",))
    return np.fromstring(text[1:-1], np.int64, sep=",")


def ids(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> list[int]:
    """The column `id` of a query, in the order of the query."""
    return read(connection, sql, arguments, "id")[0]


def _gathered(
    connection: sqlite3.Connection, sql: str, arguments: Sequence[object], names: Sequence[str]
) -> Sequence[str]:
    gathered = ", ".join(f"json_group_array({name})" for name in names)
    row: Sequence[str] = connection.execute(f"SELECT {gathered} FROM ({sql})", arguments).fetchone()
    return row
