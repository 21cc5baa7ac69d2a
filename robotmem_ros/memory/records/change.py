"""A change of a memory, kept with what the memory was before."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One change of a memory, and what the memory was before it."""

    changed_at: str
    """ISO 8601 in UTC, by the wall clock."""
    change: str
    """What was done: `update`, `repetition`, `forget`, `restore` and so on."""
    reason: str
    before: dict[str, object]
    """The fields that were changed, with the values they had."""
