"""Find the true results on a site, and judge what a system finds."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.internals.stages import Embedder, Vectors
from bench.worlds.site import Parts, SiteMemory, make_parts, memories, vectors
from bench.worlds.site_queries import (
    MEANING,
    NEAREST,
    NEAREST_TEXT,
    SEED,
    SORTS,
    WARM_UP,
    Columns,
    SiteQuery,
    columns,
    make_queries,
    matching_rows,
    nearest_row,
)  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """A site of a size, the queries on it, their vectors, and the true results."""

    world: str
    size: int
    model: str
    """Name of the embedding model."""
    parts: Parts
    vectors: Path
    """All vectors as one array in a file, float32."""
    queries: dict[str, list[SiteQuery]]
    vectors_by_sort: dict[str, Vectors]
    embedding_seconds: dict[str, list[float]]
    nearest_rows: dict[str, list[int]]
    nearest_distances: dict[str, list[npt.NDArray[np.float64]]]
    """For each query of a sort in MEANING: the cosine distances of the ten nearest that satisfy its conditions."""

    @classmethod
    def of(cls, world: str, size: int, count: int, embedder: Embedder, options: argparse.Namespace) -> Truth:
        """Find the true results of `count` queries of each sort by a scan of all memories."""
        parts = make_parts(world, Path(options.model) / "tokenizer.json", embedder, options.cache)
        queries = {
            sort: sort_queries[WARM_UP:]
            for sort, sort_queries in make_queries(world, count + WARM_UP, size, SEED).items()
        }
        vectors_by_sort, seconds = {}, {}
        for sort in SORTS:
            vectors_by_sort[sort], seconds[sort] = _embed(embedder, [query.text for query in queries[sort]])
        file = options.cache / f"vectors-{world.replace(' ', '-')}-{size}.npy"
        if not file.exists():
            np.save(file, np.concatenate(list(vectors(parts, size))))
        table = columns(parts, size)
        all_vectors = np.load(file, mmap_mode="r")
        return cls(
            world, size, embedder.name, parts, file, queries, vectors_by_sort, seconds,
            {sort: [nearest_row(table, query) for query in queries[sort]] for sort in (NEAREST, NEAREST_TEXT)},
            {sort: _nearest(all_vectors, table, queries[sort], vectors_by_sort[sort]) for sort in MEANING},
        )  # fmt: skip

    def memories(self) -> list[SiteMemory]:
        """Return the memories of the site."""
        return list(memories(self.parts, self.size))

    def recall_at_10(self, sort: str, id_lists: list[list[int]]) -> float:
        """Return the share of the ten nearest that were found; rows as near as the tenth count too."""
        all_vectors = np.load(self.vectors, mmap_mode="r")
        right = relevant = 0
        for rows, near, query in zip(id_lists, self.nearest_distances[sort], self.vectors_by_sort[sort], strict=True):
            distances = 1 - all_vectors[sorted(set(rows))] @ query if rows else np.empty(0)
            right += min(len(near), int((distances <= near[-1] + 1e-5).sum()))
            relevant += len(near)
        return right / max(relevant, 1)

    def right_share(self, sort: str, first: list[int | None]) -> float:
        """Return the share of queries whose first result is the true one."""
        return float(np.mean([row == true for row, true in zip(first, self.nearest_rows[sort], strict=True)]))


def _embed(embedder: Embedder, texts: list[str]) -> tuple[Vectors, list[float]]:
    vectors, took = [], []
    for text in texts:
        start = time.perf_counter()
        vectors.append(embedder.embed_one(text or "nothing"))
        took.append(time.perf_counter() - start if text else 0.0)
    return np.stack(vectors), took


def _nearest(
    all_vectors: Vectors, table: Columns, queries: list[SiteQuery], query_vectors: Vectors
) -> list[npt.NDArray[np.float64]]:
    all_distances = 1 - query_vectors @ np.asarray(all_vectors).T
    return [
        np.sort(distances[matching_rows(table, query)])[:10].astype(np.float64)
        for query, distances in zip(queries, all_distances, strict=True)
    ]
