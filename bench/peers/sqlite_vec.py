"""Run sqlite-vec: a vec0 table, whose search compares all vectors."""

from __future__ import annotations

import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import Row, Store, equal_conditions, run

REQUIREMENT = "sqlite-vec==0.1.9"


class SqliteVec(Store):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "store.db", isolation_level=None)
        self._db.enable_load_extension(True)
        import_module("sqlite_vec").load(self._db)
        self._db.execute(
            "CREATE VIRTUAL TABLE memories USING vec0(id INTEGER PRIMARY KEY, v FLOAT[384] distance_metric=cosine, "
            "robot TEXT, task TEXT, label TEXT, stamp FLOAT)"
        )

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?)",
            [
                (first + index, vectors[index].tobytes(), row["robot"], row["task"], row["label"], row["stamp"])
                for index, row in enumerate(rows)
            ],
        )
        self._db.execute("COMMIT")

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search."""
        equal = equal_conditions(query)
        sql, values = ["v MATCH ?", "k = ?", *(f"{name} = ?" for name in equal)], [vector.tobytes(), n, *equal.values()]
        if query["after"] is not None:
            sql += ["stamp >= ?", "stamp < ?"]
            values += [query["after"], query["before"]]
        rows = self._db.execute(f"SELECT id FROM memories WHERE {' AND '.join(sql)} ORDER BY distance", values)
        return [number for (number,) in rows]


if __name__ == "__main__":
    run(SqliteVec)
