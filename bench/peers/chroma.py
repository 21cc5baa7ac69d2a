"""Run Chroma: an HNSW index, with conditions beside it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import Row, Store, equal_conditions, run

REQUIREMENT = "chromadb==1.5.9"


class Chroma(Store):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        chromadb = import_module("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._rows = client.create_collection("memories", metadata={"hnsw:space": "cosine"}, embedding_function=None)

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        ids = [str(first + index) for index in range(len(rows))]
        self._rows.add(ids=ids, embeddings=vectors, metadatas=rows)

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search."""
        tests: list[Row] = [{name: value} for name, value in equal_conditions(query).items()]
        if query["after"] is not None:
            tests += [{"stamp": {"$gte": query["after"]}}, {"stamp": {"$lt": query["before"]}}]
        condition = {"$and": tests} if len(tests) > 1 else tests[0] if tests else None
        result = self._rows.query(query_embeddings=[vector], n_results=n, where=condition, include=["distances"])
        return [int(number) for number in result["ids"][0]]


if __name__ == "__main__":
    run(Chroma)
