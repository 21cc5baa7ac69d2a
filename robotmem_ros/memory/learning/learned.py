"""The result of learning a fact."""

from __future__ import annotations

from dataclasses import dataclass

from ..models import Stored


@dataclass(frozen=True)
class Learned(Stored):
    """The result of learning a fact."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 0.0
    """As it is stored now, in [0, 1]."""
    method: str = ""
    """How the fact is like the one that it repeats, or the most similar one: `exact`, `jaccard` or `cosine`."""
    similarity: float = 0.0
    """By that method, in [0, 1]."""
    similar_ids: tuple[int, ...] = ()
    """The facts that are similar and worded otherwise, most similar first. Each fact stays as it is."""
    contradicts: tuple[int, ...] = ()
    """The facts that it contradicts."""
    reason: str = ""
    """What was missing: without a model, meanings are not compared."""

    @property
    def status(self) -> str:
        """`stored`; `similar`, stored beside the facts of `similar_ids`; or `duplicate`, which reinforced this id."""
        if not self.is_new:
            return "duplicate"
        return "similar" if self.similar_ids else "stored"
