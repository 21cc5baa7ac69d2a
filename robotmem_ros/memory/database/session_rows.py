"""Writes sessions to their tables and reads them back: the only file that knows their columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from ..records.session import CRASHED, Session

_COLUMNS = """
    s.external_id, s.collection, s.context, s.started_at, s.ended_at, s.end_reason,
    (SELECT score FROM session_outcomes WHERE session_id = s.external_id), s.session_count,
    (SELECT count(*) FROM memories WHERE session_id = s.external_id AND session_id <> '' AND status = 'active'),
    s.superseded
"""
_LAST_OBSERVED = """
    SELECT max(observed_at) FROM memories WHERE session_id = ?1 AND session_id <> '' AND observed_at >= ?2
"""


def start(connection: sqlite3.Connection, session: Session, owner: str) -> None:
    """Opens a session."""
    connection.execute(
        "INSERT INTO sessions (external_id, collection, context, started_at, owner) VALUES (?, ?, ?, ?, ?)",
        (session.session_id, session.collection, session.context_json, session.started_at, owner),
    )


def find(connection: sqlite3.Connection, session_id: str) -> Session | None:
    """The session of this id."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM sessions AS s WHERE external_id = ?", (session_id,)).fetchone()
    return None if row is None else Session(*row)


def latest(connection: sqlite3.Connection, collection: str, n: int) -> tuple[Session, ...]:
    """The last `n` sessions, of a collection or of all if it is empty; the one that was started last comes first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM sessions AS s WHERE ?1 IN ('', s.collection) ORDER BY s.id DESC LIMIT ?2",
        (collection, n),
    )
    return tuple(Session(*row) for row in rows)


def has_open(connection: sqlite3.Connection) -> bool:
    """Whether any session is open."""
    return connection.execute("SELECT 1 FROM sessions WHERE status = 'active' LIMIT 1").fetchone() is not None


def unconsolidated(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The sessions that ended and wait for their consolidation, with their collections; the first one first."""
    sql = "SELECT external_id, collection FROM sessions WHERE status = 'ended' AND superseded IS NULL ORDER BY id"
    return connection.execute(sql).fetchall()


def note_consolidated(connection: sqlite3.Connection, session_id: str, collection: str, superseded: int) -> None:
    """Notes that the lessons of a session were consolidated, if it has ended, and how many were superseded."""
    connection.execute(
        "UPDATE sessions SET superseded = coalesce(superseded, 0) + ? "
        "WHERE external_id = ? AND collection = ? AND status = 'ended'",
        (superseded, session_id, collection),
    )


def has_memories(connection: sqlite3.Connection, session_id: str, collection: str) -> bool:
    """Whether any memory of a collection names a session."""
    sql = "SELECT 1 FROM memories WHERE session_id = ? AND session_id <> '' AND collection = ? LIMIT 1"
    return connection.execute(sql, (session_id, collection)).fetchone() is not None


def end(connection: sqlite3.Connection, session_id: str, when: int, reason: str) -> None:
    """Ends an open session at a time of the robot's clock in nanoseconds; what was recalled in it is of no more use."""
    connection.execute("DELETE FROM session_recalls WHERE session_id = ?", (session_id,))
    connection.execute(
        "UPDATE sessions SET status = 'ended', ended_at = max(started_at, ?), end_reason = ?, owner = '' "
        "WHERE external_id = ?",
        (when, reason, session_id),
    )


def set_outcome(connection: sqlite3.Connection, session_id: str, score: float) -> None:
    """Notes how a session went, and lets what was recalled in it share in that."""
    connection.execute("INSERT INTO session_outcomes (session_id, score) VALUES (?, ?)", (session_id, score))
    connection.execute(
        "INSERT INTO memory_outcomes (memory_id, total, weight) "
        "SELECT memory_id, share * ?1, share FROM session_recalls WHERE session_id = ?2 "
        "ON CONFLICT DO UPDATE SET total = total + excluded.total, weight = weight + excluded.weight",
        (score, session_id),
    )


def note_recalls(connection: sqlite3.Connection, ranks: Mapping[int, int]) -> None:
    """Notes memories as recalled in every open session of their collection, by the best rank of each, from 1."""
    if not has_open(connection):
        return
    connection.executemany(
        "INSERT INTO session_recalls (session_id, memory_id, share) "
        "SELECT s.external_id, m.id, ?1 FROM memories AS m "
        "JOIN sessions AS s ON s.collection = m.collection AND s.status = 'active' WHERE m.id = ?2 "
        "ON CONFLICT DO UPDATE SET share = max(share, ?1)",
        [(1.0 / rank, memory_id) for memory_id, rank in ranks.items()],
    )


def take_over(
    connection: sqlite3.Connection, owner: str, is_alive: Callable[[str], bool], *, goes_on: bool
) -> tuple[str, ...]:
    """Ends the open sessions whose owner is gone, and gives their ids; `goes_on` with those that nobody has in hand.

    The former end at the last observation in them.
    """
    crashed = []
    for session_id, started_at, last_owner in connection.execute(
        "SELECT external_id, started_at, owner FROM sessions WHERE status = 'active'"
    ).fetchall():
        if not last_owner and goes_on:
            connection.execute(
                "UPDATE sessions SET owner = ?, session_count = session_count + 1 WHERE external_id = ?",
                (owner, session_id),
            )
        elif last_owner and not is_alive(last_owner):
            (last,) = connection.execute(_LAST_OBSERVED, (session_id, started_at)).fetchone()
            end(connection, session_id, last or started_at, CRASHED)
            crashed.append(session_id)
    return tuple(crashed)


def let_go(connection: sqlite3.Connection, owner: str) -> None:
    """Leaves the open sessions of an owner to whoever comes next."""
    connection.execute("UPDATE sessions SET owner = '' WHERE owner = ?", (owner,))
