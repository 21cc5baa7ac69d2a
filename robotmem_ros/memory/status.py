"""What the memory holds now, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from .recall.answer import Mode


@dataclass(frozen=True)
class Status:
    """What the database holds, and what is missing."""

    mode: Mode
    reason: str
    db_path: str
    db_bytes: int
    schema_version: int
    embedding_model: str
    facts: int
    perceptions: int
    pending_vectors: int
    removed: int = 0
    """Memories that retention removed so far."""

    @property
    def memories(self) -> int:
        """Active memories of both kinds."""
        return self.facts + self.perceptions
