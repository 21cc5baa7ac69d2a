"""Results: of a recall, and of the single searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..models import Kind, Memory, Pose
from .snippet import snippet

DISTANCE_DIGITS = 6
"""Cosine distances are rounded to this many digits, so that equal ones tie whatever the order of summation."""


class Mode(str, Enum):
    """What a recall really ran on."""

    HYBRID = "hybrid"
    BM25_ONLY = "bm25_only"
    VEC_ONLY = "vec_only"
    STRUCTURED = "structured"


class BriefMemory(NamedTuple):
    """What of a memory tells whether to read it in full."""

    id: int
    kind: Kind
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    score: float
    relevance: float
    snippet: str
    """The part of its content that has most to do with the query, with the words of the query marked: see `snippet`."""
    label: str
    pose: Pose | None
    frame_id: str
    distance: float
    """Metres to the target of the spatial sort; NaN without one."""
    collection: str


@dataclass(frozen=True)
class RecallResult:
    """The result of one recall: memories, best first, and how they were found."""

    memories: tuple[Memory, ...]
    mode: Mode
    reason: str = ""
    """What was missing, when something was."""
    words: Mapping[str, float] = field(default_factory=dict)
    """The words of the query, as they are indexed, and how rare each is."""

    def brief(self) -> tuple[BriefMemory, ...]:
        """Return of each memory what tells whether to read it in full, see `RobotMemory.get_memories`."""
        return tuple(
            BriefMemory(
                one.id, one.kind, one.observed_at, one.score, one.relevance, snippet(one.content, self.words),
                one.label, one.pose, one.frame_id, one.distance, one.collection,
            )
            for one in self.memories
        )  # fmt: skip

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
