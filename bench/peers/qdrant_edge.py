"""Run Qdrant Edge: an HNSW index, a text index and indexes of the conditions, fused by reciprocal ranks."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import COLUMNS, Row, Store, equal_conditions, run

REQUIREMENT = "qdrant-edge-py==0.9.0"
_RANK_CONSTANT = 60
_BLOCK = 1000


class QdrantEdge(Store):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        self._edge: Any = import_module("qdrant_edge")
        edge = self._edge
        vector = edge.EdgeVectorParams(size=384, distance=edge.Distance.Cosine)
        self._shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors={"vector": vector}))
        words = edge.TextIndexParams(
            tokenizer=edge.TokenizerType.Word,
            lowercase=True,
            stopwords=edge.Language.English,
            stemmer=edge.SnowballParams(edge.SnowballLanguage.English),
            scoring=True,
        )
        indexes = {"text": words, "stamp": edge.FloatIndexParams()}
        indexes |= {name: edge.KeywordIndexParams() for name in COLUMNS[1:-1]}
        for name, index in indexes.items():
            self._shard.update(edge.UpdateOperation.create_field_index(name, index))

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        points = [
            self._edge.Point(
                id=first + index,
                vector={"vector": vectors[index].tolist()},
                payload={name: row[name] for name in COLUMNS},
            )
            for index, row in enumerate(rows)
        ]
        for start in range(0, len(points), _BLOCK):
            self._shard.update(self._edge.UpdateOperation.upsert_points(points[start : start + _BLOCK]))

    def finish(self) -> None:
        """Build the index."""
        self._shard.optimize()
        self._shard.flush()

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search the vectors."""
        return self._query(self._by_vector(vector), n, filter=self._filter(query))

    def search(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search words and vectors."""
        edge, condition = self._edge, self._filter(query)
        searches = [
            edge.Prefetch(limit=n, query=search, filter=condition)
            for search in (self._by_vector(vector), edge.TextQuery("text", query["text"]))
        ]
        return self._query(edge.Fusion.Rrf(k=_RANK_CONSTANT), n, prefetches=searches)

    def _by_vector(self, vector: Any) -> Any:
        return self._edge.Query.Nearest(vector.tolist(), using="vector")

    def _filter(self, query: Row) -> Any:
        edge = self._edge
        tests = [
            edge.FieldCondition(key=name, match=edge.MatchValue(value))
            for name, value in equal_conditions(query).items()
        ]
        if query["after"] is not None:
            window = edge.RangeFloat(gte=query["after"], lt=query["before"])
            tests.append(edge.FieldCondition(key="stamp", range=window))
        return edge.Filter(must=tests) if tests else None

    def _query(self, search: Any, n: int, **options: Any) -> list[int]:
        return [row.id for row in self._shard.query(self._edge.QueryRequest(limit=n, query=search, **options))]


if __name__ == "__main__":
    run(QdrantEdge)
