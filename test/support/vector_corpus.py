"""Vectors as texts have them: in clusters, some of them very near to each other, and a database that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.attributes import AttributeIndex
from robotmem_ros.memory.search.vector_index import VectorIndex
from robotmem_ros.memory.storage import Database, codec, rows, vector_rows
from robotmem_ros.memory.storage.candidates import Candidates
from robotmem_ros.memory.storage.snapshot import Transaction

DIM = 48


def clustered(count: int, seed: int, *, dim: int = DIM, clusters: int = 60) -> Vectors:
    """Draw unit vectors around `clusters` centres; every tenth is nearly equal to the one before it."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((clusters, dim))
    vectors = centres[draw.integers(0, clusters, count)] + 0.7 * draw.standard_normal((count, dim))
    vectors[9::10] = vectors[8:-1:10] + 1e-3 * draw.standard_normal((len(vectors[9::10]), dim))
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def fill(database: Database, vectors: Vectors, first: int = 0) -> None:
    """Store memories with the texts `text <first>` and so on, and these vectors."""
    kept = codec.encode(vectors)

    def work(transaction: Transaction) -> None:
        for number, vector in enumerate(kept, start=first):
            context = f'{{"number": {number}, "rest": {number % 100}}}'
            new = NewMemory(Kind.FACT, f"text {number}", "default", number + 1, "map", "", context=context)
            vector_rows.store(transaction, [(rows.insert(transaction, new), new.content, vector)])

    database.write(work).result()


def delete(database: Database, ids: Iterable[int]) -> None:
    """Delete memories."""
    database.write(lambda transaction: rows.delete(transaction, ids)).result()


@contextmanager
def opened(path: Path | str) -> Iterator[tuple[Database, VectorIndex]]:
    """Open a database and the index of its vectors, which two threads compare."""
    database = Database(Parameters(db_path=str(path), synchronous="normal"))
    try:
        with ThreadPoolExecutor(1) as threads:
            yield database, VectorIndex(AttributeIndex(lambda: 0.0), threads)
    finally:
        database.close()


def nearest(database: Database, index: VectorIndex, query: Vectors, count: int) -> list[int]:
    """Return the memories with the nearest vectors, best first."""
    with database.snapshot() as snapshot:
        ids: list[int] = index.search(snapshot, query, Candidates(()), count).ids.tolist()
    return ids


VECTORS = clustered(3000, 1)
QUERIES = clustered(60, 2)


def recall_at_10(database: Database, index: VectorIndex, vectors: Vectors = VECTORS) -> float:
    """Return the share of the ten nearest, by the vectors as they are kept, that are found; ids count from 1."""
    kept = codec.decode(codec.encode(vectors), vectors.shape[1])
    hits = 0
    for query in QUERIES:
        exact = set((np.argsort(-kept @ query)[:10] + 1).tolist())
        hits += len(exact & set(nearest(database, index, query, 10)))
    return hits / (10 * len(QUERIES))
