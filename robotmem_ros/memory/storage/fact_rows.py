"""Store decisions about facts, repetitions, and links between facts."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable

from ..clocks import iso
from ..models import Contradiction, Decision, Kind, Similarity
from . import lived_days, revisions
from .indexed_row import Rows
from .snapshot import Snapshot, Transaction, json_array


def set_decisions(transaction: Transaction, memory_id: int, decisions: Iterable[Decision]) -> None:
    """Replace the decisions of a memory."""
    transaction.execute("UPDATE memories SET decisions = ? WHERE id = ?", (as_json([*decisions]), memory_id))


def decisions_of(snapshot: Snapshot, memory_id: int) -> tuple[Decision, ...]:
    """Return the decisions about a memory, in the order in which they were made."""
    return decisions_in(snapshot.row("SELECT decisions FROM memories WHERE id = ?", (memory_id,))[0])


def as_json(decisions: Collection[Decision]) -> str | None:
    """Return decisions as `memories` has them."""
    return json.dumps(decisions, ensure_ascii=False) if decisions else None


def decisions_in(value: str | None) -> tuple[Decision, ...]:
    """Return the decisions that a value of `memories` holds."""
    return tuple(Decision(*decision) for decision in json.loads(value or "[]"))


def reinforce(transaction: Transaction, memory_id: int, confidence: float, observed_at: int) -> None:
    """Note that a fact was learned again: set its new confidence, and keep the later time of observation."""
    transaction.execute(
        "UPDATE memories SET confidence = ?, times_learned = times_learned + 1, updated_at = ?, "
        f"observed_at = max(observed_at, ?), {revisions.SET_REVISION} WHERE id = ?",
        (confidence, iso(time.time_ns()), observed_at, memory_id),
    )
    lived_days.renew(transaction, memory_id)


def times_learned(snapshot: Snapshot, memory_id: int) -> int:
    """Return how often a fact was learned."""
    return int(snapshot.row("SELECT times_learned FROM memories WHERE id = ?", (memory_id,))[0])


def link_contradictions(transaction: Transaction, memory_id: int, links: Collection[tuple[int, str]]) -> None:
    """Link a fact with the facts that it contradicts, each with the reason."""
    rows = _from_both_sides(memory_id, links)
    transaction.insert("contradictions (memory_id, other_id, reason)", "(?, ?, ?)", rows)


def link_similar(transaction: Transaction, memory_id: int, links: Collection[Similarity]) -> None:
    """Link a fact with similar facts."""
    rows = _from_both_sides(memory_id, links)
    transaction.insert("similar_facts (memory_id, other_id, method, similarity)", "(?, ?, ?, ?)", rows)


def similar_to(snapshot: Snapshot, memory_id: int) -> tuple[Similarity, ...]:
    """Return the active facts that are linked as similar to a fact, most similar first."""
    rows = snapshot.rows(
        "SELECT o.id, s.method, s.similarity FROM similar_facts AS s JOIN memories AS o ON o.id = s.other_id "
        "WHERE s.memory_id = ? AND o.status = 'active' ORDER BY s.similarity DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Similarity(*row) for row in rows)


def exchange(transaction: Transaction, old: Rows, new: Rows) -> None:
    """Remove the links of facts that are deleted."""
    if facts := {row.id for row in old if row.type == Kind.FACT.value} - {row.id for row in new}:
        unlink_contradictions(transaction, facts)
        unlink_similar(transaction, facts)


def unlink_contradictions(transaction: Transaction, memory_ids: Collection[int]) -> None:
    """Remove the links of facts to those that they contradict."""
    _unlink(transaction, "contradictions", memory_ids)


def unlink_similar(transaction: Transaction, memory_ids: Collection[int]) -> None:
    """Remove the links of facts to similar facts."""
    _unlink(transaction, "similar_facts", memory_ids)


def _from_both_sides(memory_id: int, links: Collection[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [(memory_id, *link) for link in links] + [(other_id, memory_id, *about) for other_id, *about in links]


def _unlink(transaction: Transaction, table: str, memory_ids: Collection[int]) -> None:
    ids = (json_array(memory_ids),)
    links = f"SELECT other_id, memory_id FROM {table} WHERE memory_id IN (SELECT value FROM json_each(?))"
    transaction.execute(f"DELETE FROM {table} WHERE (memory_id, other_id) IN ({links})", ids)
    transaction.delete(table, "memory_id", memory_ids)


def contradictions_of(snapshot: Snapshot, memory_id: int) -> tuple[Contradiction, ...]:
    """Return the active facts that contradict a fact, newest first."""
    rows = snapshot.rows(
        "SELECT o.id, c.reason, o.content, (o.observed_at, o.id) > (m.observed_at, m.id) FROM contradictions AS c "
        "JOIN memories AS o ON o.id = c.other_id JOIN memories AS m ON m.id = c.memory_id "
        "WHERE c.memory_id = ? AND o.status = 'active' ORDER BY o.observed_at DESC, o.id DESC",
        (memory_id,),
    )
    return tuple(Contradiction(other_id, reason, content, bool(newer)) for other_id, reason, content, newer in rows)
