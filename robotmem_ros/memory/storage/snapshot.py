"""A state of the database to read, and a transaction that changes it, in place of a connection.

A call of SQLite releases Python's lock and waits to take it again. Row by row, a large insert or a recall would wait a
thousand times while other threads work. So rows are read and inserted many at a time.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import StorageError

T = TypeVar("T")
Arguments = Sequence[object] | Mapping[str, object]
_ROWS = (64, 16)
"""Rows in one statement. Fewer are inserted one by one, since SQLite copies pages to undo a statement of many rows."""


class Snapshot:
    """One state of the database to read; an error of SQLite is raised as a StorageError.

    Args:
        connection: A connection without other use in the meantime.
        action: The failing action, for errors.
        known: What was read once of this state before, see `read_once`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        action: str = "read the database",
        known: dict[object, Any] | None = None,
    ) -> None:
        self._connection = connection
        self._action = action
        self._known = {} if known is None else known

    def rows(self, sql: str, arguments: Arguments = ()) -> list[Any]:
        """Return the rows of a query."""
        try:
            return self._connection.execute(sql, arguments).fetchall()
        except sqlite3.Error as cause:
            raise StorageError(self._action, cause) from cause

    def row(self, sql: str, arguments: Arguments = ()) -> Any:
        """Return the first row of a query; None if it has none."""
        try:
            return self._connection.execute(sql, arguments).fetchone()
        except sqlite3.Error as cause:
            raise StorageError(self._action, cause) from cause

    def mappings(self, sql: str, arguments: Arguments = ()) -> list[dict[str, Any]]:
        """Return the rows of a query by the names of its columns."""
        try:
            cursor = self._connection.execute(sql, arguments)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, values, strict=True)) for values in cursor]
        except sqlite3.Error as cause:
            raise StorageError(self._action, cause) from cause

    def columns(self, sql: str, arguments: Sequence[object], *names: str) -> list[list[Any]]:
        """Return these columns of a query, each with its rows in the order of the query. No value may be a blob."""
        return [json.loads(column) for column in self._gathered(sql, arguments, names)]

    def ids(self, sql: str, arguments: Sequence[object] = ()) -> list[int]:
        """Return the column `id` of a query, in the order of the query."""
        return self.columns(sql, arguments, "id")[0]

    def array(self, sql: str, arguments: Sequence[object] = ()) -> npt.NDArray[np.int64]:
        """Return the column `id` of a query that may have very many rows, in the order of the query."""
        return self.arrays(sql, arguments, "id")[0]

    def arrays(self, sql: str, arguments: Sequence[object], *names: str) -> list[npt.NDArray[np.int64]]:
        """Return columns of whole numbers, as `columns` does."""
        return [np.fromstring(text[1:-1], np.int64, sep=",") for text in self._gathered(sql, arguments, names)]

    def read_once(self, read: Callable[[Snapshot], T]) -> T:
        """Return the result of a function, which is read once, and not again until the file changes."""
        if read not in self._known:
            self._known[read] = read(self)
        value: T = self._known[read]
        return value

    def _gathered(self, sql: str, arguments: Sequence[object], names: Sequence[str]) -> Sequence[str]:
        # JSON numbers arrive in half of the time that group_concat() takes.
        gathered = ", ".join(f"json_group_array({name})" for name in names)
        row: Sequence[str] = self.row(f"SELECT {gathered} FROM ({sql})", arguments)
        return row


class Transaction(Snapshot):
    """A transaction of the writer, which reads its own writes. A failed write raises a sqlite3.Error."""

    def __init__(self, connection: sqlite3.Connection, action: str = "read the database") -> None:
        super().__init__(connection, action)
        self.revision = 0
        """The revision of the open transaction, see `revisions.begin`."""
        self.clock: Callable[[], int] = time.time_ns
        """The robot's, in nanoseconds."""
        self.has_events = False
        """Whether it wrote events, see `event_rows`."""
        self.execute = connection.execute
        self.executemany = connection.executemany

    @property
    def is_open(self) -> bool:
        """Return whether it can still be committed."""
        return self._connection.in_transaction

    def read_once(self, read: Callable[[Snapshot], T]) -> T:
        """Return the result of a function, read each time, since it may change."""
        return read(self)

    def insert(self, into: str, row: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows in their order; `into` is `table (column, ...)`, `row` the values of one row, `(?, ...)`."""
        for size in _ROWS:
            whole = len(rows) - len(rows) % size
            if whole:
                sql = f"INSERT INTO {into} VALUES {', '.join([row] * size)}"
                for start in range(0, whole, size):
                    self.execute(sql, tuple(chain.from_iterable(rows[start : start + size])))
                rows = rows[whole:]
        if rows:
            self.executemany(f"INSERT INTO {into} VALUES {row}", rows)

    def delete(self, table: str, column: str, values: Collection[int], *, returning: str = "") -> list[Any]:
        """Delete the rows that have one of these values in a column; `RETURNING ...` gives columns of them."""
        sql = f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?)) {returning}"
        return self.execute(sql, (json_array(values),)).fetchall() if values else []


def json_array(values: Iterable[int] | npt.NDArray[np.int64]) -> str:
    """Return integers as a JSON array, for `IN (SELECT value FROM json_each(?))`."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    return f"[{','.join(map(str, values))}]"  # for a few, json.dumps() takes five times as long
