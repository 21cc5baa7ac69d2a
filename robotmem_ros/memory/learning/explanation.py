"""Explain why a memory is what it is."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ..clocks import nanoseconds
from ..models import Contradiction, Decision, Repetition, Similarity
from ..storage import contribution_rows, fact_rows, rows
from .repetition import fact_versions, given_by_caller


@dataclass(frozen=True)
class Explanation:
    """The decisions, repetitions and links of a memory."""

    memory_id: int
    status: str
    """`active`, `superseded` or `invalidated`."""
    decisions: tuple[Decision, ...]
    """Decisions of when it was learned or last corrected, with their rules; empty if it was not classified."""
    times_learned: int = 1
    repetitions: tuple[Repetition, ...] = ()
    """The last hundred repetitions, oldest first."""
    contradictions: tuple[Contradiction, ...] = ()
    """The active facts that contradict it, newest first."""
    similar: tuple[Similarity, ...] = ()
    """The active facts that are linked as similar, most similar first."""
    reason: str = ""
    """Why it is not active, such as `consolidated, replaced by 7`; empty for an active one."""


def explain(connection: sqlite3.Connection, memory_id: int) -> Explanation:
    """Explain a memory of any status.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    status = rows.status_of(connection, memory_id)
    return Explanation(
        memory_id,
        status,
        fact_rows.decisions_of(connection, memory_id),
        fact_rows.times_learned(connection, memory_id),
        _repetitions(connection, memory_id),
        fact_rows.contradictions_of(connection, memory_id),
        fact_rows.similar_to(connection, memory_id),
        rows.why_inactive(connection, memory_id),
    )


def _repetitions(connection: sqlite3.Connection, memory_id: int) -> tuple[Repetition, ...]:
    fact = rows.stored_fact(connection, memory_id)
    contributions = contribution_rows.of(connection, memory_id, fact) if fact else []
    if not contributions:
        return ()
    return tuple(
        Repetition(
            nanoseconds(item.learned_at), item.fact.session_id, item.fact.content, item.method, item.similarity,
            before.confidence, before.observed_at, given_by_caller(item.fact),
        )
        for item, before in zip(contributions[1:], fact_versions(contributions), strict=False)
    )  # fmt: skip
