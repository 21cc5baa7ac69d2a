"""Write sessions to their tables, read them back, and count what is in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..conditions.decay import DEFAULT_CONFIDENCE, IS_PROTECTED, Decay
from ..models import ENDED, EXPIRED, Session
from ..text.normal_form import label_key
from . import doubtful_times, fact_rows, revisions
from .revisions import SET_REVISION
from .rows import update
from .snapshot import Snapshot, Transaction, json_array

_COLUMNS = """
    s.external_id, s.collection, s.context, s.started_at, s.ended_at, s.end_reason,
    s.outcome, s.expires_at,
    (SELECT count(*) FROM memories WHERE session_id = s.external_id AND session_id <> '' AND status = 'active'),
    s.superseded
"""
NEVER_GROUPED = ("constraint", "postmortem", "gotcha")
"""Categories of facts that are never grouped."""
SURE = 0.95
"""Confidence from which facts are never grouped."""
_FACTS = f"""
    SELECT id, content, category, context, frame_id, map_id, confidence FROM memories INDEXED BY idx_mem_session
    WHERE session_id = ? AND session_id <> '' AND collection = ? AND status = 'active' AND type = 'fact'
    AND category NOT IN ({", ".join(map(repr, NEVER_GROUPED))}) AND confidence < {SURE}
    ORDER BY confidence DESC, access_count DESC, created_at DESC, id DESC
"""
_BOTH_UNCHANGED = """
    FROM memories AS m JOIN memories AS r ON r.id = ?3 AND r.content = ?4 AND r.status = 'active'
    WHERE m.id = ?1 AND m.content = ?2 AND m.status = 'active'
"""
_JOIN_GROUP = f"UPDATE memories SET represented_by = ?3 WHERE id = (SELECT m.id {_BOTH_UNCHANGED})"
_BESIDE = """(SELECT group_concat(id) FROM (
    SELECT p.id FROM memories AS p INDEXED BY idx_mem_session WHERE p.session_id = m.session_id AND p.session_id <> ''
    AND p.id {before} m.id ORDER BY p.id {order} LIMIT ?))"""
_PLACES = f"""
    SELECT m.id AS id, m.session_id AS session, coalesce({_BESIDE.format(before="<", order="DESC")}, '') AS before,
    coalesce({_BESIDE.format(before=">", order="ASC")}, '') AS after
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE m.session_id <> ''
"""


class EndedSession(NamedTuple):
    """A session that has ended."""

    session_id: str
    context_json: str


class SureFact(NamedTuple):
    """A fact and its decayed confidence."""

    id: int
    confidence: float


class SessionFact(NamedTuple):
    """A fact of a session that can be grouped."""

    id: int
    content: str
    category: str
    context: str
    frame_id: str
    map_id: str
    confidence: float
    """Confidence as stored, without decay."""


def facts_to_consolidate(snapshot: Snapshot, session_id: str, collection: str) -> list[SessionFact]:
    """Return the facts of a session that can be grouped; the best representatives come first."""
    return [SessionFact(*row) for row in snapshot.rows(_FACTS, (session_id, collection))]


def supersede(transaction: Transaction, fact: SessionFact, target: SessionFact, now: str) -> bool:
    """Supersede a fact by another one at a time in ISO 8601; return False if either has changed."""
    texts = (fact.id, fact.content, target.id, target.content)
    if transaction.row(f"SELECT 1 {_BOTH_UNCHANGED}", texts) is None:
        return False
    status = {"status": "superseded", "status_reason": "consolidated", "superseded_by": target.id, "superseded_at": now}
    update(transaction, fact.id, {**status, "updated_at": now})
    return True


def set_group(
    transaction: Transaction, representative: SessionFact, members: Sequence[SessionFact]
) -> list[SessionFact]:
    """Make facts one group instead of their old groups; return the members that have not changed."""
    fact_rows.leave_groups(transaction, [representative.id, *(member.id for member in members)])
    version = (representative.id, representative.content)
    new_members = [
        member
        for member in members
        if transaction.execute(_JOIN_GROUP, (member.id, member.content, *version)).rowcount == 1
    ]
    revisions.touch(transaction, [member.id for member in new_members])
    return new_members


def start(transaction: Transaction, session: Session) -> None:
    """Open a session."""
    transaction.execute(
        "INSERT INTO sessions (external_id, collection, context, started_at, expires_at, uuid, revision) "
        f"VALUES (?, ?, ?, ?, ?, ?, {revisions.NEXT})",
        (
            session.session_id,
            session.collection,
            session.context_json,
            session.started_at,
            session.expires_at,
            revisions.uuid7(),
        ),
    )


def find(snapshot: Snapshot, session_id: str) -> Session | None:
    """Return the session of this id."""
    row = snapshot.row(f"SELECT {_COLUMNS} FROM sessions AS s WHERE external_id = ?", (session_id,))
    return None if row is None else Session(*row)


def row_id(snapshot: Snapshot, session_id: str) -> int | None:
    """Return the number of a session in the order in which sessions were started; None if there is none."""
    row = snapshot.row("SELECT id FROM sessions WHERE external_id = ?", (session_id,))
    return row and int(row[0])


def latest(snapshot: Snapshot, collection: str, n: int, before: int) -> tuple[Session, ...]:
    """Return the last `n` sessions before one, of a collection, or of all if it is empty, the latest first."""
    rows = snapshot.rows(
        f"SELECT {_COLUMNS} FROM sessions AS s WHERE ?1 IN ('', s.collection) AND s.id < ?3 "
        "ORDER BY s.id DESC LIMIT ?2",
        (collection, n, before),
    )
    return tuple(Session(*row) for row in rows)


def has_open(snapshot: Snapshot) -> bool:
    """Return whether any session is open."""
    return snapshot.row("SELECT 1 FROM sessions WHERE status = 'active' LIMIT 1") is not None


def unconsolidated(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the sessions that ended and wait for consolidation, with their collections; the oldest first."""
    return snapshot.rows(
        "SELECT external_id, collection FROM sessions INDEXED BY idx_sessions_status "
        "WHERE status = 'ended' AND superseded IS NULL ORDER BY id"
    )


def note_consolidated(transaction: Transaction, session_id: str, collection: str, superseded_count: int) -> None:
    """Note that the facts of a session that has ended were consolidated, and how many were superseded."""
    transaction.execute(
        f"UPDATE sessions SET superseded = coalesce(superseded, 0) + ?, {SET_REVISION} "
        "WHERE external_id = ? AND collection = ? AND status = 'ended'",
        (superseded_count, session_id, collection),
    )


def other_ended(snapshot: Snapshot, session: Session, n: int) -> list[EndedSession]:
    """Return the last `n` other ended sessions of the collection of a session, the latest first."""
    rows = snapshot.rows(
        "SELECT external_id, context FROM sessions "
        "WHERE collection = ? AND status = 'ended' AND external_id <> ? ORDER BY ended_at DESC LIMIT ?",
        (session.collection, session.session_id, n),
    )
    return [EndedSession(*row) for row in rows]


def subject_texts(snapshot: Snapshot, session: Session, n: int) -> list[str]:
    """Return texts of a session: of its last `n` facts, of the `n` memories recalled first, of its last perceptions."""
    last = (
        "SELECT content FROM memories INDEXED BY idx_mem_session WHERE session_id = ?1 AND session_id <> '' "
        "AND collection = ?2 AND status = 'active' AND type = {type!r} ORDER BY id DESC LIMIT ?3"
    )
    of_recalls = (
        "SELECT m.content FROM session_recalls AS r JOIN memories AS m ON m.id = r.memory_id "
        "WHERE r.session_id = ?1 AND m.collection = ?2 AND m.status = 'active' "
        "ORDER BY r.share DESC, m.id DESC LIMIT ?3"
    )
    selects = (last.format(type="fact"), of_recalls, last.format(type="perception"))
    arguments = (session.session_id, session.collection, n)
    return [content for sql in selects for (content,) in snapshot.rows(sql, arguments)]


def outcomes(snapshot: Snapshot, session_ids: Collection[str]) -> dict[str, float]:
    """Return the outcomes of those of some sessions that have one."""
    sql = (
        "SELECT external_id, outcome FROM sessions "
        "WHERE external_id IN (SELECT value FROM json_each(?)) AND outcome IS NOT NULL"
    )
    return dict(snapshot.rows(sql, (json.dumps(list(session_ids)),)))


def surest_facts(
    snapshot: Snapshot, session_id: str, collection: str, decay: Decay, *, threshold: float, n: int
) -> list[SureFact]:
    """Return the `n` active facts of a session with the highest confidence, at least `threshold`; surest first."""
    rows = snapshot.rows(
        f"SELECT m.id, {decay.confidence()} AS now FROM memories AS m INDEXED BY idx_mem_session "
        "WHERE m.session_id = ? AND m.session_id <> '' AND m.collection = ? AND m.type = 'fact' "
        "AND m.status = 'active' AND now >= ? ORDER BY now DESC, m.id DESC LIMIT ?",
        (session_id, collection, threshold, n),
    )
    return [SureFact(*row) for row in rows]


def has_memories(snapshot: Snapshot, session_id: str, collection: str) -> bool:
    """Return whether any memory of a collection names a session."""
    sql = "SELECT 1 FROM memories WHERE session_id = ? AND session_id <> '' AND collection = ? LIMIT 1"
    return snapshot.row(sql, (session_id, collection)) is not None


def end(transaction: Transaction, session_id: str, ended_at: int) -> None:
    """End a session at a time of the robot's clock in nanoseconds; an expired session keeps the time of its expiry."""
    transaction.execute("DELETE FROM session_recalls WHERE session_id = ?", (session_id,))
    transaction.execute(
        "UPDATE sessions SET status = 'ended', ended_at = coalesce(ended_at, max(started_at, ?)), end_reason = ?, "
        f"{SET_REVISION} WHERE external_id = ?",
        (ended_at, ENDED, session_id),
    )


def expired(snapshot: Snapshot, now: int) -> list[tuple[str, str]]:
    """Return ids and collections of the open sessions that reached their longest duration, the oldest first.

    `now` is of the robot's clock in nanoseconds. A session that began by another clock, which was or is wrong, waits
    until its times are put right.
    """
    sql = "SELECT uuid, external_id, collection FROM sessions WHERE status = 'active' AND expires_at <= ? ORDER BY id"
    rows = snapshot.rows(sql, (now,))
    waiting = doubtful_times.incomparable(snapshot, "sessions", [uuid for uuid, *_ in rows], now) if rows else ()
    return [(session_id, collection) for uuid, session_id, collection in rows if uuid not in waiting]


def close_expired(transaction: Transaction, now: int) -> list[tuple[str, str]]:
    """Close the sessions that are expired, and return them.

    Their recalls are kept, because an outcome can still be given.
    """
    sessions = expired(transaction, now)
    transaction.executemany(
        "UPDATE sessions SET status = 'ended', ended_at = expires_at, end_reason = ?, "
        f"{SET_REVISION} WHERE external_id = ?",
        [(EXPIRED, session_id) for session_id, _ in sessions],
    )
    return sessions


def set_outcome(transaction: Transaction, session_id: str, score: float) -> None:
    """Store the outcome of a session, and add it to the outcomes of the memories that were recalled in it."""
    transaction.execute("UPDATE sessions SET outcome = ? WHERE external_id = ?", (score, session_id))
    rows = transaction.execute(
        "INSERT INTO memory_outcomes (memory_id, total, weight) "
        "SELECT memory_id, share * ?1, share FROM session_recalls WHERE session_id = ?2 "
        "ON CONFLICT DO UPDATE SET total = total + excluded.total, weight = weight + excluded.weight "
        "RETURNING memory_id",
        (score, session_id),
    ).fetchall()
    revisions.touch(transaction, [memory_id for (memory_id,) in rows])


def note_recalls(transaction: Transaction, ranks: Mapping[int, int]) -> None:
    """Note memories, except notes, as recalled in all open sessions of their collection, by their best rank, from 1."""
    if not has_open(transaction):
        return
    transaction.executemany(
        "INSERT INTO session_recalls (session_id, memory_id, share) "
        "SELECT s.external_id, m.id, ?1 FROM memories AS m "
        "JOIN sessions AS s ON s.collection = m.collection AND s.status = 'active' "
        "WHERE m.id = ?2 AND m.type <> 'note' "
        "ON CONFLICT DO UPDATE SET share = max(share, ?1)",
        [(1.0 / rank, memory_id) for memory_id, rank in ranks.items()],
    )


def neighbors(snapshot: Snapshot, ids: Collection[int], reach: int) -> Iterable[tuple[int, str, str, str]]:
    """Return ids and sessions of memories that belong to a session, with the ids before and after, joined by commas.

    There are at most `reach` ids on each side, the nearest first.
    """
    arguments = (reach, reach, json_array(ids))
    return zip(*snapshot.columns(_PLACES, arguments, "id", "session", "before", "after"), strict=True)


_OBJECTS = """
    SELECT m.label, count(*) FROM objects AS o CROSS JOIN memories AS m ON m.id = o.memory_id
    WHERE o.last_seen >= ? AND m.collection = ? AND m.status = 'active' GROUP BY m.label ORDER BY m.label
"""


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


def ended_sessions(snapshot: Snapshot, collection: str) -> int:
    """Count the sessions of a collection that have ended."""
    sql = "SELECT count(*) FROM sessions WHERE collection = ? AND status = 'ended'"
    return int(snapshot.row(sql, (collection,))[0])


def objects_seen(snapshot: Snapshot, session: Session) -> dict[str, int]:
    """Count the objects of the collection seen since a session began, by label, the most frequent first."""
    counts, labels = Counter[str](), dict[str, str]()
    for label, count in snapshot.rows(_OBJECTS, (session.started_at, session.collection)):
        counts[label_key(label)] += count
        labels.setdefault(label_key(label), label)
    return {labels[key]: counts[key] for key in sorted(counts, key=lambda key: (-counts[key], key))}


def decay_report(snapshot: Snapshot, collection: str, decay: Decay) -> DecayReport:
    """Compute how far the active memories of a collection have decayed."""
    row = snapshot.row(
        "SELECT count(*), coalesce(sum(is_protected), 0), coalesce(sum(now < stored), 0), "
        f"coalesce(sum(stored >= {DEFAULT_CONFIDENCE} AND now < {DEFAULT_CONFIDENCE}), 0), "
        "coalesce(avg(stored), 0.0), coalesce(avg(now), 0.0) FROM ("
        f"SELECT m.confidence AS stored, {decay.confidence()} AS now, {IS_PROTECTED} AS is_protected "
        "FROM memories AS m WHERE m.collection = ? AND m.status = 'active' AND m.type <> 'note')",
        (collection,),
    )
    return DecayReport(*row)
