"""Run LanceDB: an HNSW index, a text index and indexes of the conditions, fused by reciprocal ranks."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import COLUMNS, Row, Store, run, sql_condition

REQUIREMENT = "lancedb==0.40.0"
_EF = 300
"""By default it finds 81 of 100 of the ten nearest of 20,000 vectors, so 98."""


class LanceDb(Store):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        self._db = import_module("lancedb").connect(str(folder))
        self._pa = import_module("pyarrow")
        self._table: Any = None

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        pa = self._pa
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), vectors.shape[1])
        columns = {name: pa.array([row[name] for row in rows]) for name in COLUMNS}
        table = pa.table({"id": pa.array(range(first, first + len(rows))), "vector": flat, **columns})
        if self._table is None:
            self._table = self._db.create_table("memories", table)
        else:
            self._table.add(table)

    def finish(self) -> None:
        """Build the indexes."""
        index = import_module("lancedb.index")
        configs = {"vector": index.HnswSq(distance_type="cosine", num_partitions=1), "text": index.FTS()}
        configs |= {"robot": index.Bitmap(), "label": index.Bitmap(), "task": index.BTree(), "stamp": index.BTree()}
        for column, config in configs.items():
            self._table.create_index(column, config=config)
        self._table.optimize()

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search the vectors."""
        return self._query(self._table.search(vector, query_type="vector"), query, n)

    def search(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search words and vectors."""
        return self._query(self._table.search(query_type="hybrid").vector(vector).text(query["text"]), query, n)

    def _query(self, search: Any, query: Row, n: int) -> list[int]:
        search = search.distance_type("cosine").ef(_EF).select(["id"]).limit(n)
        if condition := sql_condition(query):
            search = search.where(condition, prefilter=True)
        return [int(number) for number in search.to_arrow()["id"].to_pylist()]


if __name__ == "__main__":
    run(LanceDb)
