"""The values of sessions: what is known at the start, what came of it at the end. Times are of the robot's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..consolidation.merge import Consolidation
from ..records import Memory

ENDED, CRASHED = "ended", "crashed"
"""Why a session is over: it was ended, or the process that had it in hand was gone at the next start."""


@dataclass(frozen=True)
class Session:
    """One episode of a robot."""

    session_id: str
    collection: str
    context_json: str
    started_at: int
    """Nanoseconds since the epoch."""
    ended_at: int | None = None
    """Nanoseconds since the epoch; None while it is open."""
    end_reason: str = ""
    """Empty while it is open, else `ended` or `crashed`."""
    outcome: float | None = None
    """In [0, 1], 1 is a full success; None when nobody said."""
    processes: int = 1
    """How many processes had it in hand, one after the other."""
    memories: int = 0
    """Active memories that name it."""

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def duration(self) -> float | None:
        """Seconds; None while it is open."""
        return None if self.ended_at is None else (self.ended_at - self.started_at) / 1e9


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
