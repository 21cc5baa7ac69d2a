"""What is true in a world of a size, and how often a system says it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.scale_questions import (
    FEW_PERCENT,
    HYBRID,
    NEAREST,
    NEAREST_TEXT,
    RARE,
    SORTS,
    Columns,
    ScaleQuestion,
    columns,
    fitting,
    nearest_row,
    questions,
)
from bench.scale_world import Parts, ScaleMemory, memories, vectors
from robotmem_ros.memory.embedding import Embedder, Vectors

WARM_UP = 10
SEED = 3
MEANING = (HYBRID, FEW_PERCENT, RARE)
"""The sorts whose ten nearest vectors are compared with the exact ones."""


@dataclass(frozen=True)
class Truth:
    """A world of a size, the questions to it, their vectors, and the true answers."""

    size: int
    pieces: Parts
    columns: Columns
    vectors: Path
    """All vectors as one array in a file, float32."""
    questions: dict[str, list[ScaleQuestion]]
    embedded: dict[str, Vectors]
    embedding_seconds: dict[str, list[float]]
    nearest_rows: dict[str, list[int]]
    nearest_distances: dict[str, list[npt.NDArray[np.float64]]]
    """Of each question of a sort in MEANING: the cosine distances of the ten nearest that satisfy its conditions."""

    @classmethod
    def of(cls, pieces: Parts, world: str, size: int, *, count: int, embedder: Embedder, cache: Path) -> Truth:
        """Finds the true answers by going through all memories."""
        asked = {sort: all_of[WARM_UP:] for sort, all_of in questions(world, count + WARM_UP, size, SEED).items()}
        embedded, took = {}, {}
        for sort in SORTS:
            embedded[sort], took[sort] = _embedded(embedder, [question.query for question in asked[sort]])
        file = cache / f"vectors-{world.replace(' ', '-')}-{size}.npy"
        if not file.exists():
            np.save(file, np.concatenate(list(vectors(pieces, size))))
        table = columns(pieces, size)
        stored = np.load(file, mmap_mode="r")
        return cls(
            size, pieces, table, file, asked, embedded, took,
            {sort: [nearest_row(table, one) for one in asked[sort]] for sort in (NEAREST, NEAREST_TEXT)},
            {sort: _nearest(stored, table, asked[sort], embedded[sort]) for sort in MEANING},
        )  # fmt: skip

    def memories(self) -> list[ScaleMemory]:
        """The memories of the world."""
        return list(memories(self.pieces, self.size))

    def recall_at_10(self, sort: str, found: list[list[int]]) -> float:
        """The share of the ten nearest that were found; one that is as near as the tenth is one of them."""
        stored = np.load(self.vectors, mmap_mode="r")
        right = wanted = 0
        for rows, near, query in zip(found, self.nearest_distances[sort], self.embedded[sort], strict=True):
            distances = 1 - stored[sorted(set(rows))] @ query if rows else np.empty(0)
            right += min(len(near), int((distances <= near[-1] + 1e-5).sum()))
            wanted += len(near)
        return right / max(wanted, 1)

    def right_share(self, sort: str, first: list[int | None]) -> float:
        """The share of questions whose first answer is the true one."""
        return float(np.mean([one == truth for one, truth in zip(first, self.nearest_rows[sort], strict=True)]))

    def judged(self, answer: dict[str, Any]) -> dict[str, Any]:
        """What our process has said, judged."""
        sorts = answer["sorts"]
        for sort in (NEAREST, NEAREST_TEXT):
            sorts[sort]["right"] = self.right_share(sort, sorts[sort]["first"])
        for sort in MEANING:
            sorts[sort]["recall"] = self.recall_at_10(sort, answer["nearest_vectors"][sort])
        del answer["nearest_vectors"]
        return answer


def _embedded(embedder: Embedder, texts: list[str]) -> tuple[Vectors, list[float]]:
    found, took = [], []
    for text in texts:
        began = time.perf_counter()
        found.append(embedder.embed_one(text or "nothing"))
        took.append(time.perf_counter() - began if text else 0.0)
    return np.stack(found), took


def _nearest(
    stored: Vectors, table: Columns, asked: list[ScaleQuestion], embedded: Vectors
) -> list[npt.NDArray[np.float64]]:
    everything = 1 - embedded @ np.asarray(stored).T
    found = []
    for question, distances in zip(asked, everything, strict=True):
        under = np.sort(distances[fitting(table, question)])[:10]
        found.append(under.astype(np.float64))
    return found
