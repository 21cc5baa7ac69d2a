"""Write memories by SQL, for states that no verb makes; the indexes follow, but not what a column is read from."""

from __future__ import annotations

from collections.abc import Sequence

from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.indexing import changing
from robotmem_ros.memory.storage.snapshot import Transaction


def run(transaction: Transaction, sql: str, values: Sequence[object] = ()) -> None:
    """Run a statement that changes memories."""
    ids = [memory_id for (memory_id,) in transaction.rows("SELECT id FROM memories")]
    with changing(transaction, ids):
        transaction.execute(sql, values)


def write(database: Database, sql: str, values: Sequence[object] = ()) -> None:
    """Run a statement that changes memories, as a job."""
    database.write(lambda transaction: run(transaction, sql, values)).result()
