"""Runs one vector store in its own environment: one JSON request a line on stdin, one answer a line on stdout.

    python scale_peer.py <sqlite-vec | chroma | lancedb> <folder>

Each is used as its documentation shows: rows with their conditions beside the vectors, a search of the nearest by
cosine distance with a filter. None of them orders by position: for the nearest object the 50 nearest in meaning under
the label are ordered by distance, as a program that uses it would.
"""

from __future__ import annotations

import json
import math
import sqlite3
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Row = dict[str, Any]
_BATCH = 5000
_TO_ORDER = 50


class Store(Protocol):
    """What is asked of each."""

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Stores rows, the first of which has the number `first`."""

    def nearest(self, vector: Any, question: Row, n: int) -> list[int]:
        """The numbers of the n rows nearest to a vector that satisfy the conditions of a question."""


class SqliteVec:
    """sqlite-vec: a vec0 table, whose search compares all vectors."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "store.db", isolation_level=None)
        self._db.enable_load_extension(True)
        import_module("sqlite_vec").load(self._db)
        self._db.execute(
            "CREATE VIRTUAL TABLE memories USING vec0(id INTEGER PRIMARY KEY, v FLOAT[384] distance_metric=cosine, "
            "robot TEXT, task TEXT, label TEXT, stamp FLOAT)"
        )

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Stores rows."""
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?)",
            [
                (first + index, vectors[index].tobytes(), row["robot"], row["task"], row["label"], row["stamp"])
                for index, row in enumerate(rows)
            ],
        )
        self._db.execute("COMMIT")

    def nearest(self, vector: Any, question: Row, n: int) -> list[int]:
        """Searches."""
        sql, values = ["v MATCH ?", "k = ?"], [vector.tobytes(), n]
        for name, test in (("robot", "robot = ?"), ("task", "task = ?"), ("label", "label = ?")):
            if question[name] is not None:
                sql.append(test)
                values.append(question[name])
        if question["after"] is not None:
            sql += ["stamp >= ?", "stamp < ?"]
            values += [question["after"], question["before"]]
        found = self._db.execute(f"SELECT id FROM memories WHERE {' AND '.join(sql)} ORDER BY distance", values)
        return [number for (number,) in found]


class Chroma:
    """Chroma: an HNSW index, conditions beside it."""

    def __init__(self, folder: Path) -> None:
        chromadb = import_module("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._rows = client.create_collection("memories", metadata={"hnsw:space": "cosine"}, embedding_function=None)

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Stores rows."""
        ids = [str(first + index) for index in range(len(rows))]
        self._rows.add(ids=ids, embeddings=vectors, metadatas=rows)

    def nearest(self, vector: Any, question: Row, n: int) -> list[int]:
        """Searches."""
        tests: list[Row] = [{name: question[name]} for name in ("robot", "task", "label") if question[name] is not None]
        if question["after"] is not None:
            tests += [{"stamp": {"$gte": question["after"]}}, {"stamp": {"$lt": question["before"]}}]
        where = {"$and": tests} if len(tests) > 1 else tests[0] if tests else None
        found = self._rows.query(query_embeddings=[vector], n_results=n, where=where, include=["distances"])
        return [int(number) for number in found["ids"][0]]


class LanceDb:
    """LanceDB: a table, whose search compares all vectors."""

    def __init__(self, folder: Path) -> None:
        self._db = import_module("lancedb").connect(str(folder))
        self._pa = import_module("pyarrow")
        self._table: Any = None

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Stores rows."""
        pa = self._pa
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), vectors.shape[1])
        columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
        table = pa.table({"id": pa.array(range(first, first + len(rows))), "vector": flat, **columns})
        if self._table is None:
            self._table = self._db.create_table("memories", table)
        else:
            self._table.add(table)

    def nearest(self, vector: Any, question: Row, n: int) -> list[int]:
        """Searches."""
        tests = [f"{name} = '{question[name]}'" for name in ("robot", "task", "label") if question[name] is not None]
        if question["after"] is not None:
            tests.append(f"stamp >= {question['after']} AND stamp < {question['before']}")
        search = self._table.search(vector).distance_type("cosine").select(["id"]).limit(n)
        if tests:
            search = search.where(" AND ".join(tests), prefilter=True)
        return [int(number) for number in search.to_arrow()["id"].to_pylist()]


STORES: dict[str, Callable[[Path], Any]] = {"sqlite-vec": SqliteVec, "chroma": Chroma, "lancedb": LanceDb}


def main() -> None:
    """Answers until stdin ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    store = STORES[sys.argv[1]](Path(sys.argv[2]))
    places: list[tuple[float, float]] = []
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "load":
            answer: Row = _load(store, request, places)
        else:
            answer = _ask(store, request, places)
        print(json.dumps(answer), file=answers, flush=True)


def _load(store: Any, request: Row, places: list[tuple[float, float]]) -> Row:
    vectors = np.load(request["vectors"], mmap_mode="r")
    rows = [json.loads(line) for line in Path(request["rows"]).read_text().splitlines()]
    places += [tuple(row.pop("position")) for row in rows]
    began = time.perf_counter()
    for first in range(0, len(rows), _BATCH):
        store.add(first, np.ascontiguousarray(vectors[first : first + _BATCH]), rows[first : first + _BATCH])
        if time.perf_counter() - began > request["limit"]:
            return {"stored": first + _BATCH, "seconds": time.perf_counter() - began}
    return {"stored": len(rows), "seconds": time.perf_counter() - began}


def _ask(store: Any, request: Row, places: list[tuple[float, float]]) -> Row:
    question, vector = request["question"], np.array(request["vector"], np.float32)
    began = time.perf_counter()
    if question["target"] is None:
        found = store.nearest(vector, question, 10)
    else:
        found = store.nearest(vector, question, _TO_ORDER)
        found.sort(key=lambda number: math.dist(places[number], question["target"]))
    seconds = time.perf_counter() - began
    resident = int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024
    return {"seconds": seconds, "found": found[:10], "rss": resident}


if __name__ == "__main__":
    main()
