"""The database of a world: filled once, without the model, and kept in the cache for later runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from bench.scale_world import Parts, ScaleMemory, memories, vectors
from robotmem_ros.memory import Kind, Parameters, Pose
from robotmem_ros.memory.database import Database, rows
from robotmem_ros.memory.database.functions import text_digest
from robotmem_ros.memory.embedding import codec
from robotmem_ros.memory.records.memory import NewMemory
from robotmem_ros.memory.vectors import VectorIndex

BLOCK = 20_000


def filled(folder: Path, pieces: Parts, count: int, model: str) -> Path:
    """The database of a world of a size, with its index; what is missing of it in the folder is added."""
    path = folder / "memory.db"
    done = folder / "done"
    if done.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    parameters = Parameters(db_path=str(path), synchronous="normal")
    database = Database(parameters)
    _fill(database, pieces, count, model)
    began = time.perf_counter()
    index = VectorIndex(database, parameters.vector_index_size)
    index.flush()
    print(f"  indexed in {time.perf_counter() - began:.0f} s", flush=True)
    index.close()
    database.close()
    done.touch()
    return path


def _fill(database: Database, pieces: Parts, count: int, model: str) -> None:
    began = time.perf_counter()
    database.write(
        lambda connection: connection.execute("INSERT OR REPLACE INTO settings VALUES ('embedding_model', ?)", (model,))
    )
    there = rows_so_far(database)
    source = memories(pieces, count)
    for number, block in enumerate(vectors(pieces, count, BLOCK)):
        if number * BLOCK < there:
            next(islice(source, BLOCK - 1, BLOCK))
            continue
        kept, new = codec.encode(block), list(islice(source, BLOCK))

        def store(connection: sqlite3.Connection, new: Sequence[ScaleMemory] = new, kept: list[bytes] = kept) -> None:
            connection.executemany(
                "INSERT INTO vectors (digest, embedding) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [(text_digest(memory.content), vector) for memory, vector in zip(new, kept, strict=True)],
            )
            rows.insert_all(connection, [_new(memory) for memory in new])

        database.write(store).result()
        print(f"\r  filled {rows_so_far(database)} in {time.perf_counter() - began:.0f} s", end="", flush=True)
    print(flush=True)


def rows_so_far(database: Database) -> int:
    """How many memories the database holds."""
    with database.reader() as connection:
        return sum(rows.tallies(connection)[kind] for kind in ("fact", "perception"))


def _new(memory: ScaleMemory) -> NewMemory:
    return NewMemory(
        Kind.PERCEPTION, memory.content, "default", int(memory.stamp * 1e9), "map", "", context=memory.context(),
        pose=Pose(*memory.position, 0.5), perception_type="visual", label=memory.label,
    )  # fmt: skip
