"""What a session came to, and how far its collection has decayed: counted, nothing written."""

from __future__ import annotations

import sqlite3

from ..models import Session
from ..storage.decay import IS_PROTECTED, Decay
from .report import DecayReport

_ASKED_FOR = 0.3
"""The confidence that recall asks for where nothing else is said."""
_KNOWN = "SELECT type, n FROM collection_counters WHERE collection = ?"
_KINDS = """
    SELECT type, count(*) FROM memories INDEXED BY idx_mem_session
    WHERE session_id = ? AND session_id <> '' AND collection = ? AND status = 'active' GROUP BY type
"""
_CATEGORIES = """
    SELECT category, count(*) FROM memories INDEXED BY idx_mem_session
    WHERE session_id = ? AND session_id <> '' AND collection = ? AND status = 'active' AND type = 'fact'
    GROUP BY category ORDER BY count(*) DESC, category
"""
_OBJECTS = """
    SELECT min(m.label), count(*) FROM objects AS o CROSS JOIN memories AS m ON m.id = o.memory_id
    WHERE o.last_seen >= ? AND m.collection = ? AND m.status = 'active'
    GROUP BY m.label_key ORDER BY count(*) DESC, m.label_key
"""


def known(connection: sqlite3.Connection, collection: str) -> dict[str, int]:
    """How many active memories of each kind a collection has, and how many sessions ended in it."""
    (sessions,) = connection.execute(
        "SELECT count(*) FROM sessions WHERE collection = ? AND status = 'ended'", (collection,)
    ).fetchone()
    return {"fact": 0, "perception": 0, "session": sessions} | dict(connection.execute(_KNOWN, (collection,)))


def kinds(connection: sqlite3.Connection, session: Session) -> dict[str, int]:
    """How many active memories of each kind name a session."""
    counted = connection.execute(_KINDS, (session.session_id, session.collection))
    return {"fact": 0, "perception": 0} | dict(counted)


def categories(connection: sqlite3.Connection, session: Session) -> dict[str, int]:
    """The active facts of a session by category, the most frequent first."""
    return dict(connection.execute(_CATEGORIES, (session.session_id, session.collection)))


def objects(connection: sqlite3.Connection, session: Session) -> dict[str, int]:
    """The objects of the collection that were seen since a session began, by label, the most frequent first."""
    return dict(connection.execute(_OBJECTS, (session.started_at, session.collection)))


def decayed(connection: sqlite3.Connection, collection: str, decay: Decay) -> DecayReport:
    """How far the active memories of a collection have decayed."""
    now = decay.confidence()
    row = connection.execute(
        "SELECT count(*), coalesce(sum(spared), 0), coalesce(sum(now < stored), 0), "
        "coalesce(sum(stored >= ? AND now < ?), 0), coalesce(avg(stored), 0.0), coalesce(avg(now), 0.0) FROM ("
        f"SELECT m.confidence AS stored, {now.sql} AS now, {IS_PROTECTED} AS spared "
        "FROM memories AS m WHERE m.collection = ? AND m.status = 'active')",
        (_ASKED_FOR, _ASKED_FOR, *now.arguments, collection),
    ).fetchone()
    return DecayReport(*row)
