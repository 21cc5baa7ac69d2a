"""Write memories by SQL, for states that no verb makes; the indexes follow, but not what a column is read from."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.indexing import changing


def run(connection: sqlite3.Connection, sql: str, values: Sequence[object] = ()) -> None:
    """Run a statement that changes memories."""
    ids = [memory_id for (memory_id,) in connection.execute("SELECT id FROM memories").fetchall()]
    with changing(connection, ids):
        connection.execute(sql, values)


def write(database: Database, sql: str, values: Sequence[object] = ()) -> None:
    """Run a statement that changes memories, as a job."""
    database.write(lambda connection: run(connection, sql, values)).result()
