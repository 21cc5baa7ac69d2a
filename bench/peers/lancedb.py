"""Run LanceDB: a table, whose search compares all vectors."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import Row, equal_conditions, run

REQUIREMENT = "lancedb==0.40.0"


class LanceDb:
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        self._db = import_module("lancedb").connect(str(folder))
        self._pa = import_module("pyarrow")
        self._table: Any = None

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        pa = self._pa
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), vectors.shape[1])
        columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
        table = pa.table({"id": pa.array(range(first, first + len(rows))), "vector": flat, **columns})
        if self._table is None:
            self._table = self._db.create_table("memories", table)
        else:
            self._table.add(table)

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search."""
        tests = [f"{name} = '{value}'" for name, value in equal_conditions(query).items()]
        if query["after"] is not None:
            tests.append(f"stamp >= {query['after']} AND stamp < {query['before']}")
        search = self._table.search(vector).distance_type("cosine").select(["id"]).limit(n)
        if tests:
            search = search.where(" AND ".join(tests), prefilter=True)
        return [int(number) for number in search.to_arrow()["id"].to_pylist()]


if __name__ == "__main__":
    run(LanceDb)
