"""The values of a consolidation: lessons, which of them are merged into which, and what that comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Lesson(NamedTuple):
    """A fact that can be consolidated."""

    id: int
    content: str
    category: str
    context_json: str
    confidence: float
    """As it was stored."""


@dataclass(frozen=True)
class Merge:
    """One lesson that stays, and those that it stands for from now on."""

    kept: Lesson
    superseded: tuple[Lesson, ...]
    """The most preferred first."""
    similarity: float
    """The least Jaccard similarity of one of them to the one that stays."""


@dataclass(frozen=True)
class Consolidation:
    """What a consolidation did, or would do."""

    session_id: str
    collection: str
    considered: int
    """How many lessons could have been merged."""
    merges: tuple[Merge, ...]
    dry_run: bool = False

    @property
    def superseded(self) -> int:
        """How many lessons others stand for now."""
        return sum(len(merge.superseded) for merge in self.merges)
