"""What became of a fact that was learned."""

from __future__ import annotations

from dataclasses import dataclass

from ..models import Stored


@dataclass(frozen=True)
class Learned(Stored):
    """What became of a fact that was learned."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 0.0
    """As it is stored now, in [0, 1]."""
    method: str = ""
    """Of a duplicate: how it was found to be one, `exact`, `jaccard` or `cosine`; empty for a new fact."""
    similarity: float = 0.0
    """Of a duplicate: how alike the two are by that method, in [0, 1]."""
    contradicts: tuple[int, ...] = ()
    """The facts that it contradicts."""
    reason: str = ""
    """What was missing, when something was: without a model, meanings are not compared."""

    @property
    def status(self) -> str:
        """`stored`, or `duplicate` of the fact with this id, which is stronger now."""
        return "stored" if self.is_new else "duplicate"
