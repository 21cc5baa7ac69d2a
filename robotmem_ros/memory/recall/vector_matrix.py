"""All vectors of the database in RAM, for the questions that few conditions narrow.

It grows by rows it has not seen; whether a row still counts is asked of the database. So it can never give a wrong
answer, whoever writes, only ask once more. When more than half of its rows are gone, it is read anew.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..embedding import Vector, Vectors

_FIRST_CAPACITY = 1024


class VectorMatrix:
    """The rows of memories_vec: their ids and their vectors, float32, in the order of their ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, 0), np.float32)
        self._used = 0

    def ranked(self, connection: sqlite3.Connection, query: Vector, first: int) -> Iterator[tuple[list[int], float]]:
        """Ids of rows of memories_vec, nearest first, in batches that grow from about `first` rows on.

        With each batch, the cosine distance up to which all rows have been given. Rows at the same distance stand in
        the same batch, so that none is given twice and none is left out.
        """
        ids, vectors = self._current(connection, len(query))
        # Not `@`: BLAS would use all cores, and its threads stand in the way of the model's. This is as fast on one.
        distances = 1.0 - np.einsum("ij,j->i", vectors, query)
        given_up_to, wanted = -math.inf, max(first, 1)
        while given_up_to < math.inf:
            limit = float(np.partition(distances, wanted - 1)[wanted - 1]) if wanted < len(ids) else math.inf
            batch = np.flatnonzero((distances > given_up_to) & (distances <= limit))
            if len(batch):
                yield ids[batch[np.argsort(distances[batch], kind="stable")]].tolist(), limit
            given_up_to, wanted = limit, wanted * 4

    def _current(self, connection: sqlite3.Connection, dim: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        (live,) = connection.execute("SELECT n FROM tallies WHERE name = 'vector'").fetchone()
        with self._lock:
            if self._used > 2 * live + _FIRST_CAPACITY:
                self._ids, self._vectors, self._used = np.empty(0, np.int64), np.empty((0, dim), np.float32), 0
            last = int(self._ids[self._used - 1]) if self._used else 0
            rows = connection.execute(
                "SELECT id, embedding FROM memories_vec WHERE id > ? ORDER BY id", (last,)
            ).fetchall()
            fitting = [(row_id, blob) for row_id, blob in rows if len(blob) == 4 * dim]
            if self._vectors.shape[1] != dim:
                self._ids, self._vectors, self._used = np.empty(0, np.int64), np.empty((0, dim), np.float32), 0
            if fitting:
                self._append(fitting, dim)
            return self._ids[: self._used], self._vectors[: self._used]

    def _append(self, rows: list[tuple[int, bytes]], dim: int) -> None:
        wanted = self._used + len(rows)
        if wanted > len(self._ids):
            capacity = max(wanted, 2 * len(self._ids), _FIRST_CAPACITY)
            # New arrays: a search that goes on still reads the old ones.
            ids, vectors = np.empty(capacity, np.int64), np.empty((capacity, dim), np.float32)
            ids[: self._used], vectors[: self._used] = self._ids[: self._used], self._vectors[: self._used]
            self._ids, self._vectors = ids, vectors
        self._ids[self._used : wanted] = [row_id for row_id, _ in rows]
        blobs = b"".join(blob for _, blob in rows)
        self._vectors[self._used : wanted] = np.frombuffer(blobs, np.float32).reshape(-1, dim)
        self._used = wanted
