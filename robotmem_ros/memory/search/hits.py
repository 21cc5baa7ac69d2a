"""Say what a recall adds to a memory: its rank, its distance, what stands behind it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..display import json_values
from ..models import Memory


class ScorePart(NamedTuple):
    """One step of the score of a memory."""

    name: str
    operation: str
    """`add` or `multiply`."""
    value: float
    """Addend or factor."""
    reason: str
    """In words."""
    score: float
    """After this step; it begins at 0."""


@dataclass(frozen=True)
class ScoreExplanation:
    """What the searches measured of a memory, and each step of its score."""

    bm25: float
    """0 if it contains no word of the query."""
    bm25_share: float
    """Share of the score of a memory that contains each word of the query once; may be above 1."""
    text_rank: int
    """Among what the text search found, from 1; 0 if it was not among that."""
    vector_rank: int
    """Among what the vector search found, from 1; 0 if it was not among that."""
    parts: tuple[ScorePart, ...]
    """In their order, without those that change nothing."""
    score: float
    """After all steps; that of the memory is relative to the best result."""


@dataclass(frozen=True)
class Hit:
    """A memory that a recall found, and what the recall adds to it."""

    memory: Memory
    score: float = 1.0
    """In [0, 1], relative to the best result."""
    relevance: float = 1.0
    """In [0, 1], how probable it is that its text answers the query; 1 if no text was asked for."""
    similarity: float = float("nan")
    """Cosine similarity to the query, in [-1, 1]; NaN without one, as without a vector."""
    matched_terms: tuple[str, ...] = ()
    """The words of the query that it contains, as the query spells them."""
    explanation: ScoreExplanation | None = None
    """Why it has its score, if the recall was to explain, and there is a query."""
    distance: float = float("nan")
    """Metres to the target of the spatial sort; NaN without one."""
    folded_count: int = 0
    """Number of older memories of the same text that the hit stands for."""
    folded_ids: tuple[int, ...] = ()
    """The newest of these, newest first."""
    robot: str = ""
    """The robot of the fleet that remembers it; empty for this one."""

    @property
    def id(self) -> int:
        """Return the id of the memory."""
        return self.memory.id

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the memory and those of the hit in one, as JSON can hold them.

        Raises:
            StorageError: the context of the memory is damaged.
        """
        values: dict[str, Any] = json_values(self)
        return {**values.pop("memory"), **values}

    def __repr__(self) -> str:
        folded = f", for {self.folded_count} older ones too" if self.folded_count else ""
        return f"<Hit {self.memory.summary()}, relevance {self.relevance:.2f}{folded}>"
