"""The contents of a database in numbers, which tell what a condition may leave out."""

from __future__ import annotations

from typing import NamedTuple


class Overview(NamedTuple):
    """The contents of a database in numbers."""

    counts: dict[str, int]
    """Numbers of active memories by kind."""
    vectors: int
    """Number of active memories with a vector."""
    model: str | None
    """The model whose vectors these are; None where none ever had one."""
    lived_days: int
    """Number of days that the memory has lived."""
    others: tuple[str, ...]
    """Collections of other robots."""
    has_sessions: bool
    """Whether any memory belongs to a session."""
    has_unconfirmed: bool
    """Whether any object is not confirmed."""

    @property
    def memories(self) -> int:
        """Return how many active memories there are."""
        return sum(self.counts.values())
