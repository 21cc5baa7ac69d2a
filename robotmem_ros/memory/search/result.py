"""Results: of a recall, and of the single searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ..models import Memory


class Mode(str, Enum):
    """What a recall really ran on."""

    HYBRID = "hybrid"
    BM25_ONLY = "bm25_only"
    VEC_ONLY = "vec_only"
    STRUCTURED = "structured"


@dataclass(frozen=True)
class RecallResult:
    """The result of one recall: memories, best first, and how they were found."""

    memories: tuple[Memory, ...]
    mode: Mode
    reason: str = ""
    """What was missing, when something was."""

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> Memory:
        return self.memories[index]


class Hit(NamedTuple):
    """A memory that a search found, with what the search measured: BM25 (lower is better) or cosine distance."""

    memory_id: int
    measure: float


Ranking = list[Hit]
"""Hits, best first; equals stand newest first."""
