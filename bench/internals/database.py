"""Fill a database in bulk, with vectors that were computed before, and read the vectors of another one."""

from __future__ import annotations

import sqlite3
import sys
import time
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from robotmem_ros.memory import Kind, Parameters, RobotMemory, Stored
from robotmem_ros.memory.embedding import Vector, Vectors
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage import Database, codec, rows
from robotmem_ros.memory.storage.migrations import MIGRATIONS
from robotmem_ros.memory.storage.snapshot import Transaction
from robotmem_ros.memory.storage.vector_rows import text_digest

__all__ = ["SCHEMA_VERSION", "NewMemory", "fill", "perception", "row_counts", "save", "vectors_by_text"]

SCHEMA_VERSION = f"{zlib.crc32(chr(0).join(MIGRATIONS).encode()):08x}"
"""Differs for every schema, for the names of cached databases."""


def perception(content: str, observed_at: int, **fields: Any) -> NewMemory:
    """Return a perception in the default collection and the frame `map`, ready to be stored."""
    return NewMemory(Kind.PERCEPTION, content, "default", observed_at, "map", "", **fields)


def save(memory: RobotMemory, text: str, *, background: bool = False, **fields: Any) -> Future[Stored]:
    """Validate and store a perception without waiting; in the background, as is done with a message."""
    new = new_perception(memory.parameters, NewPerception(description=text, **fields), now=time.time_ns)
    return memory.store(new, background=background)


def fill(path: Path, blocks: Iterable[tuple[Sequence[NewMemory], Vectors | None]], model: str = "") -> None:
    """Store blocks of memories with their vectors of a model, then index these; blocks already there are skipped.

    A block is stored when its last memory was observed, by the robot's clock.
    """
    parameters = Parameters(db_path=str(path), embedding_model="", synchronous="normal")
    now = 0  # no time, so that today is not the first lived day
    with closing(Database(parameters, clock=lambda: now)) as database:
        start = time.perf_counter()
        if model:
            sql = "INSERT OR REPLACE INTO settings VALUES ('embedding_model', ?)"
            database.write(lambda transaction: transaction.execute(sql, (model,)))
        count, number = _count(database), 0
        for memories, vectors in blocks:
            number += len(memories)
            if number > count:
                now = memories[-1].observed_at
                _store(database, memories, vectors)
                print(f"\r  {number} stored in {time.perf_counter() - start:.0f} s", end="", file=sys.stderr)
        print(file=sys.stderr)


def vectors_by_text(path: Path) -> dict[str, Vector]:
    """Return the vectors of a database by the texts of their memories."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT m.content, v.embedding FROM memories_vec AS mv JOIN memories AS m ON m.id = mv.memory_id "
            "JOIN vectors AS v ON v.id = mv.vector_id"
        ).fetchall()
    vectors = codec.decode([blob for _, blob in rows], codec.dimension(rows[0][1]))
    return dict(zip((content for content, _ in rows), vectors, strict=True))


def row_counts(path: Path, *tables: str) -> tuple[int, ...]:
    """Return the number of rows of tables; 0 for one that the file does not have."""
    with closing(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return tuple(
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] if table in names else 0
            for table in tables
        )


def _store(database: Database, memories: Sequence[NewMemory], vectors: Vectors | None) -> None:
    blobs = [] if vectors is None else codec.encode(np.asarray(vectors))

    def write(transaction: Transaction) -> None:
        transaction.executemany(
            "INSERT INTO vectors (digest, parts, embedding) VALUES (?, 1, ?) ON CONFLICT DO NOTHING",
            [(text_digest(memory.content), vector) for memory, vector in zip(memories, blobs, strict=False)],
        )
        rows.insert_all(transaction, memories)

    database.write(write).result()


def _count(database: Database) -> int:
    with database.snapshot() as snapshot:
        return sum(rows.totals(snapshot)[kind] for kind in ("fact", "perception"))
