"""The reports on a session, at its start and at its end. Times are of the robot's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..models import Memory, Session
from ..storage.session_stats import DecayReport
from .consolidation import Consolidation


@dataclass(frozen=True)
class SessionStart:
    """A new session, and the number of memories of its collection."""

    session_id: str
    collection: str
    known_facts: int
    known_perceptions: int
    known_sessions: int
    """Number of sessions of the collection that have ended."""


@dataclass(frozen=True)
class SessionReport:
    """The report at the end of a session."""

    session: Session
    facts: int
    perceptions: int
    categories: Mapping[str, int]
    """Facts by category, the most frequent first."""
    objects: Mapping[str, int]
    """Objects of the collection seen since the session began, by label, the most frequent first."""
    decay: DecayReport
    consolidation: Consolidation
    proactive: tuple[Memory, ...]
    """Facts of other sessions of the collection, best first."""
