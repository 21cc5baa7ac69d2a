"""Explain why a memory is what it is."""

from __future__ import annotations

from dataclasses import dataclass

from ..clocks import nanoseconds
from ..models import Contradiction, Decision, Repetition, Similarity
from ..storage import doubtful_times, fact_rows, rows
from ..storage.snapshot import Snapshot
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
    times_in_doubt: bool = False
    """Whether it was stored or changed while the robot's clock was in doubt, and nothing put its times right since."""


def explain(snapshot: Snapshot, memory_id: int) -> Explanation:
    """Explain a memory of any status.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    status, reason = rows.status(snapshot, memory_id)
    return Explanation(
        memory_id,
        status,
        fact_rows.decisions_of(snapshot, memory_id),
        fact_rows.times_learned(snapshot, memory_id),
        _repetitions(snapshot, memory_id),
        fact_rows.contradictions_of(snapshot, memory_id),
        fact_rows.similar_to(snapshot, memory_id),
        reason,
        doubtful_times.is_marked(snapshot, memory_id),
    )


def _repetitions(snapshot: Snapshot, memory_id: int) -> tuple[Repetition, ...]:
    fact = rows.stored_fact(snapshot, memory_id)
    contributions = fact_rows.contributions_of(snapshot, memory_id, fact) if fact else []
    if not contributions:
        return ()
    return tuple(
        Repetition(
            nanoseconds(item.learned_at), item.fact.session_id, item.fact.content, item.method, item.similarity,
            before.confidence, before.observed_at, given_by_caller(item.fact),
        )
        for item, before in zip(contributions[1:], fact_versions(contributions), strict=False)
    )  # fmt: skip
