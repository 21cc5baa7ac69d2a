"""Find the true results on a site, and judge what a system finds."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.internals.stages import Embedder, Vectors, identity_of, query_vector
from bench.worlds.site import YEAR, Parts, SiteMemory, make_parts, memories, vectors
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
    identity: str
    """What its vectors are kept under."""
    parts: Parts
    vectors: Path
    """All vectors as one array in a file, float32."""
    queries: dict[str, list[SiteQuery]]
    vectors_by_sort: dict[str, Vectors]
    nearest_rows: dict[str, list[int]]
    nearest_distances: dict[str, list[npt.NDArray[np.float64]]]
    """For each query of a sort in MEANING: the cosine distances of the ten nearest that satisfy its conditions."""
    contents: list[str]
    """The texts of the memories."""

    @classmethod
    def of(cls, world: str, size: int, count: int, embedder: Embedder, options: argparse.Namespace) -> Truth:
        """Find the true results of the first `count` queries of each sort by a scan of all memories.

        Twice as many follow, and first some to warm up.
        """
        parts = make_parts(world, options.model, embedder, options.cache)
        all_queries = make_queries(world, WARM_UP + 3 * count, size, SEED)
        # What has faded is no true result; of that world only times are measured.
        sorts = () if world == YEAR else SORTS[world]
        judged = {sort: all_queries[sort][WARM_UP : WARM_UP + count] for sort in sorts}
        vectors_by_sort = {
            sort: np.stack([query_vector(embedder, query.text) for query in judged[sort]])
            for sort in judged
            if sort in MEANING
        }
        file = options.cache / f"vectors-{world.replace(' ', '-')}-{size}-{embedder.name}.npy"
        if not file.exists():
            np.save(file, np.concatenate(list(vectors(parts, size))))
        table = columns(parts, size)
        all_vectors = np.load(file, mmap_mode="r")
        return cls(
            world, size, embedder.name, identity_of(embedder), parts, file, all_queries, vectors_by_sort,
            {
                sort: [nearest_row(table, query) for query in judged[sort]]
                for sort in (NEAREST, NEAREST_TEXT)
                if sort in judged
            },
            {
                sort: _nearest(all_vectors, table, judged[sort], query_vectors)
                for sort, query_vectors in vectors_by_sort.items()
            },
            [memory.content for memory in memories(parts, size)],
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

    def right_share(self, sort: str, id_lists: list[list[int]]) -> float | None:
        """Return the share of queries whose first result is the true one, or of true results among the first ten.

        None if any result may be true.
        """
        if true_rows := self.nearest_rows.get(sort):
            return float(np.mean([rows[:1] == [true] for rows, true in zip(id_lists, true_rows, strict=True)]))
        phrases = [query.phrase for query in self.queries[sort][WARM_UP:]]
        if not phrases[0]:
            return None
        right = relevant = 0
        for rows, phrase in zip(id_lists, phrases, strict=False):
            relevant += min(10, sum(phrase in content for content in self.contents))
            right += sum(phrase in self.contents[row] for row in rows[:10])
        return right / relevant


def _nearest(
    all_vectors: Vectors, table: Columns, queries: list[SiteQuery], query_vectors: Vectors
) -> list[npt.NDArray[np.float64]]:
    all_distances = 1 - query_vectors @ np.asarray(all_vectors).T
    return [
        np.sort(distances[matching_rows(table, query)])[:10].astype(np.float64)
        for query, distances in zip(queries, all_distances, strict=True)
    ]
