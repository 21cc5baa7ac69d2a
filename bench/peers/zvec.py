"""Run zvec: an HNSW index of int8 vectors, a text index and inverted indexes, fused by reciprocal ranks."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import COLUMNS, Row, Store, run, sql_condition

REQUIREMENT = "zvec==0.8.0"
_BLOCK = 1000
"""Most rows that it takes at once."""


class Zvec(Store):
    """A store in a folder, with the parameters of the example in its documentation of `HnswIndexParam`."""

    def __init__(self, folder: Path) -> None:
        self._zvec: Any = import_module("zvec")
        zvec, text = self._zvec, self._zvec.DataType.STRING
        schema = zvec.CollectionSchema(
            name="memories",
            fields=[
                zvec.FieldSchema("text", text, index_param=zvec.FtsIndexParam(filters=["lowercase", "stemmer"])),
                *(zvec.FieldSchema(name, text, index_param=zvec.InvertIndexParam()) for name in COLUMNS[1:-1]),
                zvec.FieldSchema(
                    "stamp",
                    zvec.DataType.DOUBLE,
                    index_param=zvec.InvertIndexParam(enable_range_optimization=True),
                ),
            ],
            vectors=zvec.VectorSchema(
                "vector",
                zvec.DataType.VECTOR_FP32,
                384,
                index_param=zvec.HnswIndexParam(
                    metric_type=zvec.MetricType.COSINE,
                    m=16,
                    ef_construction=200,
                    quantize_type=zvec.QuantizeType.INT8,
                    use_contiguous_memory=True,
                ),
            ),
        )
        self._rows = zvec.create_and_open(str(folder / "memories"), schema)
        self._fusion = zvec.RrfReRanker()

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        docs = [
            self._zvec.Doc(
                id=str(first + index),
                vectors={"vector": vectors[index]},
                fields={name: row[name] for name in COLUMNS},
            )
            for index, row in enumerate(rows)
        ]
        for start in range(0, len(docs), _BLOCK):
            self._rows.insert(docs[start : start + _BLOCK])

    def finish(self) -> None:
        """Build the index."""
        self._rows.optimize()

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search the vectors."""
        return self._query(self._by_vector(vector), query, n)

    def search(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search words and vectors."""
        words = self._zvec.Query("text", fts=self._zvec.Fts(match_string=query["text"]))
        return self._query([self._by_vector(vector), words], query, n, reranker=self._fusion)

    def _by_vector(self, vector: Any) -> Any:
        return self._zvec.Query("vector", vector=vector)

    def _query(self, queries: Any, query: Row, n: int, **options: Any) -> list[int]:
        condition = sql_condition(query) or None
        return [int(row.id) for row in self._rows.query(queries, topk=n, filter=condition, output_fields=[], **options)]


if __name__ == "__main__":
    run(Zvec)
