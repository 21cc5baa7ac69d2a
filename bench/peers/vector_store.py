"""Serve one store: load a world into it, and query it.

Each store is used as its documentation shows: rows with their conditions and vectors, the indexes that it has, and its
own fusion of words and vectors if it searches words. None of them orders by position: for the nearest object the 50
best with the label (and, in eMEM, within its radius) are ordered by distance, as a program that uses the store would.
"""

from __future__ import annotations

import json
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.channel import resident_bytes, serve

Row = dict[str, Any]
COLUMNS = ("text", "robot", "task", "label", "stamp")
"""Columns of a row, but for the position."""
_TO_ORDER = 50


class Store(ABC):
    """Operations that are measured of each store."""

    @abstractmethod
    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows, numbered from `first`."""

    def finish(self) -> None:  # noqa: B027, since most stores have nothing to do
        """Build the indexes after the last row."""

    @abstractmethod
    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Return the numbers of the n rows nearest to a vector that satisfy the conditions of a query."""

    def search(self, vector: Any, query: Row, n: int) -> list[int]:
        """Return the n best by words and vector; by the vector alone if the store searches no words."""
        return self.nearest(vector, query, n)


def equal_conditions(query: Row) -> Row:
    """Return the conditions of a query by which a column equals a value."""
    return {name: query[name] for name in ("robot", "task", "label") if query[name] is not None}


def sql_condition(query: Row) -> str:
    """Return the conditions of a query as SQL; empty if there are none."""
    tests = [f"{name} = '{value}'" for name, value in equal_conditions(query).items()]
    if query["after"] is not None:
        tests += [f"stamp >= {query['after']}", f"stamp < {query['before']}"]
    return " AND ".join(tests)


def run(create: Callable[[Path], Store]) -> None:
    """Serve a store in the folder that the first argument names."""
    server = _Server(create(Path(sys.argv[1])))
    serve({verb: getattr(server, verb) for verb in ("world", "load", "finish", "query", "nearest")})


class _Server:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: list[Row] = []
        self._places: list[tuple[float, float]] = []
        self._vectors: Any = None

    def world(self, rows: str, vectors: str) -> None:
        self._rows = [json.loads(line) for line in Path(rows).read_text().splitlines()]
        self._places = [(row["x"], row["y"]) for row in self._rows]
        self._vectors = np.load(vectors, mmap_mode="r")

    def load(self, first: int, last: int) -> Row:
        start = time.perf_counter()
        self._store.add(first, np.ascontiguousarray(self._vectors[first:last]), self._rows[first:last])
        return {"rows": last - first, "seconds": time.perf_counter() - start}

    def finish(self) -> float:
        start = time.perf_counter()
        self._store.finish()
        return time.perf_counter() - start

    def query(self, query: Row, vector: list[float]) -> Row:
        array = np.array(vector, np.float32)
        start = time.perf_counter()
        ids = self._store.search(array, query, 10 if query["target"] is None else _TO_ORDER)
        if query["target"] is not None:
            ids.sort(key=lambda number: math.dist(self._places[number], query["target"]))
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "found": ids[:10], "rss": resident_bytes()}

    def nearest(self, query: Row, vector: list[float]) -> list[int]:
        return self._store.nearest(np.array(vector, np.float32), query, 10)
