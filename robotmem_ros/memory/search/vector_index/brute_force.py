"""Vectors in RAM that are compared one by one: all of a small collection, the newest of a large one.

Rows are only added, and the database decides whether a vector still counts: a stale row costs an extra lookup but
never a wrong result. When more than half of the rows are gone, they are read again.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import numpy as np

from ...embedding import Vectors
from ...storage import codec, vector_rows
from ...storage.overview import overview
from .segment import Ids

_FIRST_CAPACITY = 1024
_READ = 8192


class Rows(NamedTuple):
    """Vectors and their ids, in the order of their ids."""

    ids: Ids
    vectors: Vectors


class BruteForceVectors:
    """The rows of `vectors` behind an id, float32. Not safe to use from several threads; the arrays it returns are."""

    def __init__(self) -> None:
        self._rows = _empty(0, 0)
        self._used = 0
        self._last = 0

    def __len__(self) -> int:
        return self._used

    def after(self, connection: sqlite3.Connection, low: int, dim: int) -> Rows:
        """Return all vectors with an id greater than `low`."""
        if self._rows.vectors.shape[1] != dim or (self._used and self._rows.ids[0] <= low):
            self._keep(low, dim)
        there = overview(connection)
        if self._used > 2 * there.vectors + _FIRST_CAPACITY:
            self._rows, self._used, self._last = _empty(0, dim), 0, 0
        self._last = max(self._last, low)
        while self._last < there.last_vector and (found := vector_rows.after(connection, self._last, _READ)):
            fitting = [(row_id, kept) for row_id, kept in found if len(kept) == codec.size(dim)]
            if fitting:
                self._append([row_id for row_id, _ in fitting], codec.decode([kept for _, kept in fitting], dim))
            self._last = found[-1][0]
            if len(found) < _READ:
                break
        return Rows(self._rows.ids[: self._used], self._rows.vectors[: self._used])

    def _keep(self, low: int, dim: int) -> None:
        # New arrays here and below: a search that goes on still reads the old ones.
        if self._rows.vectors.shape[1] != dim:
            self._rows, self._used, self._last = _empty(0, dim), 0, 0
        first = int(np.searchsorted(self._rows.ids[: self._used], low, side="right"))
        self._rows = Rows(self._rows.ids[first : self._used].copy(), self._rows.vectors[first : self._used].copy())
        self._used -= first

    def _append(self, ids: list[int], vectors: Vectors) -> None:
        wanted = self._used + len(ids)
        if wanted > len(self._rows.ids):
            grown = _empty(max(wanted, 2 * len(self._rows.ids), _FIRST_CAPACITY), vectors.shape[1])
            grown.ids[: self._used] = self._rows.ids[: self._used]
            grown.vectors[: self._used] = self._rows.vectors[: self._used]
            self._rows = grown
        self._rows.ids[self._used : wanted] = ids
        self._rows.vectors[self._used : wanted] = vectors
        self._used = wanted


def _empty(capacity: int, dim: int) -> Rows:
    return Rows(np.empty(capacity, np.int64), np.empty((capacity, dim), np.float32))
