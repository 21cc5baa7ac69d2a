"""All vectors of the database in RAM, for the questions that few conditions narrow.

It only ever grows by rows it has not seen; whether a row still counts is asked of the database. So it can never give a
wrong answer, whoever writes, only ask once more.
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
        """Ids of rows of memories_vec, nearest first, in batches that grow from `first` rows on.

        With each batch, the cosine distance up to which all rows have been given.
        """
        ids, vectors = self._current(connection, len(query))
        # Not `@`: BLAS would use all cores, and its threads stand in the way of the model's. This is as fast on one.
        distances = 1.0 - np.einsum("ij,j->i", vectors, query)
        start, stop = 0, max(first, 1)
        while start < len(ids):
            order = _nearest(distances, stop)[start:]
            yield ids[order].tolist(), float(distances[order[-1]]) if stop < len(ids) else math.inf
            start, stop = stop, stop * 4

    def _current(self, connection: sqlite3.Connection, dim: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        with self._lock:
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


def _nearest(distances: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int64]:
    if count >= len(distances):
        return np.argsort(distances, kind="stable")
    near = np.argpartition(distances, count - 1)[:count]
    return near[np.argsort(distances[near], kind="stable")]
