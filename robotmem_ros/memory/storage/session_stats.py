"""Count the contents of collections and sessions, and compute the decay of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..conditions.decay import IS_PROTECTED, Decay
from ..models import Session
from .snapshot import Snapshot

_OF_SESSION = "INDEXED BY idx_mem_session WHERE session_id = ? AND session_id <> '' AND collection = ?"
_OBJECTS = """
    SELECT min(m.label), count(*) FROM objects AS o CROSS JOIN memories AS m ON m.id = o.memory_id
    WHERE o.last_seen >= ? AND m.collection = ? AND m.status = 'active'
    GROUP BY m.label_key ORDER BY count(*) DESC, m.label_key
"""


class Totals(NamedTuple):
    """Numbers of active memories by kind."""

    facts: int
    perceptions: int


@dataclass(frozen=True)
class DecayReport:
    """The decay of the active facts and perceptions of a collection."""

    memories: int
    protected: int
    """Number of memories that do not decay."""
    decayed: int
    """Number of memories whose confidence is below the stored one."""
    faded: int
    """Number of memories whose confidence fell below the default minimum of recall."""
    mean_stored: float
    """Mean confidence as stored; 0 if there is no memory."""
    mean_now: float
    """Mean decayed confidence; 0 if there is no memory."""


def of_collection(snapshot: Snapshot, collection: str) -> Totals:
    """Count the active memories of a collection."""
    row = snapshot.row("SELECT facts, perceptions FROM collections WHERE name = ?", (collection,))
    return Totals(*row or (0, 0))


def of_session(snapshot: Snapshot, session: Session) -> Totals:
    """Count the active memories that name a session."""
    sql = f"SELECT type, count(*) FROM memories {_OF_SESSION} AND status = 'active' GROUP BY type"
    return _totals(snapshot.rows(sql, (session.session_id, session.collection)))


def ended_sessions(snapshot: Snapshot, collection: str) -> int:
    """Count the sessions of a collection that have ended."""
    sql = "SELECT count(*) FROM sessions WHERE collection = ? AND status = 'ended'"
    return int(snapshot.row(sql, (collection,))[0])


def categories(snapshot: Snapshot, session: Session) -> dict[str, int]:
    """Count the active facts of a session by category, the most frequent first."""
    sql = (
        f"SELECT category, count(*) FROM memories {_OF_SESSION} AND status = 'active' AND type = 'fact' "
        "GROUP BY category ORDER BY count(*) DESC, category"
    )
    return dict(snapshot.rows(sql, (session.session_id, session.collection)))


def objects(snapshot: Snapshot, session: Session) -> dict[str, int]:
    """Count the objects of the collection seen since a session began, by label, the most frequent first."""
    return dict(snapshot.rows(_OBJECTS, (session.started_at, session.collection)))


def decay_report(snapshot: Snapshot, collection: str, decay: Decay) -> DecayReport:
    """Compute how far the active memories of a collection have decayed."""
    now, faded = decay.confidence(), decay.has_faded()
    row = snapshot.row(
        "SELECT count(*), coalesce(sum(is_protected), 0), coalesce(sum(now < stored), 0), "
        "coalesce(sum(faded), 0), coalesce(avg(stored), 0.0), coalesce(avg(now), 0.0) FROM ("
        f"SELECT m.confidence AS stored, {now.sql} AS now, {faded.sql} AS faded, {IS_PROTECTED} AS is_protected "
        "FROM memories AS m WHERE m.collection = ? AND m.status = 'active' AND m.type <> 'note')",
        (*now.arguments, *faded.arguments, collection),
    )
    return DecayReport(*row)


def _totals(rows: list[tuple[str, int]]) -> Totals:
    counts = dict(rows)
    return Totals(counts.get("fact", 0), counts.get("perception", 0))
