"""The values of sessions: what is known at the start, what came of it at the end. Times are of the robot's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..models import Memory, Session
from .consolidation import Consolidation


@dataclass(frozen=True)
class SessionStart:
    """A session that was begun, and how much is known in its collection."""

    session_id: str
    collection: str
    known_facts: int
    known_perceptions: int
    known_sessions: int
    """Sessions that ended before."""


@dataclass(frozen=True)
class DecayReport:
    """How far the active memories of a collection have decayed; nothing is written for it."""

    memories: int
    protected: int
    """That do not decay."""
    decayed: int
    """That are less sure than they were stored."""
    faded: int
    """That fell below the confidence that recall asks for where nothing else is said."""
    mean_stored: float
    """Mean confidence as stored; 0 when there is no memory."""
    mean_now: float
    """Mean confidence as it is now; 0 when there is no memory."""


@dataclass(frozen=True)
class SessionReport:
    """What came of a session."""

    session: Session
    facts: int
    perceptions: int
    categories: Mapping[str, int]
    """Facts by category, the most frequent first."""
    objects: Mapping[str, int]
    """Objects of the collection that were seen since the session began, by label, the most frequent first."""
    decay: DecayReport
    consolidation: Consolidation
    proactive: tuple[Memory, ...]
    """What to know next time: facts of other sessions of the collection, best first."""
