"""Write memories by SQL, for states that no verb makes; vectors follow, but not what a column is read from."""

from __future__ import annotations

from collections.abc import Sequence

from robotmem_ros.memory.storage import Database, vector_rows
from robotmem_ros.memory.storage.snapshot import Transaction


def run(transaction: Transaction, sql: str, values: Sequence[object] = ()) -> None:
    """Run a statement that changes memories."""
    transaction.execute(sql, values)
    vector_rows.link_anew(transaction)


def write(database: Database, sql: str, values: Sequence[object] = ()) -> None:
    """Run a statement that changes memories, as a job."""
    database.write(lambda transaction: run(transaction, sql, values)).result()
