"""The answer to a question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ..models import Memory


class Mode(str, Enum):
    """What a recall really ran on."""

    HYBRID = "hybrid"
    BM25_ONLY = "bm25_only"
    VEC_ONLY = "vec_only"
    STRUCTURED = "structured"


@dataclass(frozen=True)
class Answer:
    """The answer to one recall: memories, best first, and how they were found."""

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
