"""Plan and apply the consolidation of one session; nothing is deleted, and everything can be undone.

A plan only reads, so it may take its time beside writes; when applied, it skips facts that have changed since.
Superseded facts come back when their replacement is forgotten or reworded (by a trigger), or one by one.
"""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import clocks
from ..storage import changes
from ..text.tokens import query_words
from .clusters import Words, clusters, jaccard
from .distinction import distinction


class Lesson(NamedTuple):
    """A fact that can be consolidated."""

    id: int
    content: str
    category: str
    context_json: str
    confidence: float
    """As it was stored."""


@dataclass(frozen=True)
class Merge:
    """One lesson that stays, and those that it stands for from now on."""

    kept: Lesson
    superseded: tuple[Lesson, ...]
    """The most preferred first."""
    similarity: float
    """The least Jaccard similarity of one of them to the one that stays."""


@dataclass(frozen=True)
class Consolidation:
    """What a consolidation did, or would do."""

    session_id: str
    collection: str
    considered: int
    """How many lessons could have been merged."""
    merges: tuple[Merge, ...]
    dry_run: bool = False

    @property
    def superseded(self) -> int:
        """How many lessons others stand for now."""
        return sum(len(merge.superseded) for merge in self.merges)


SPARED = ("constraint", "postmortem", "gotcha")
"""Categories that are never merged."""
SURE = 0.95
"""Neither are lessons of this confidence or more."""
FEWEST = 3
"""Of fewer lessons nothing is merged."""
_LESSONS = f"""
    SELECT id, content, category, context, confidence FROM memories INDEXED BY idx_mem_session
    WHERE session_id = ? AND session_id <> '' AND collection = ? AND status = 'active'
    AND type = 'fact' AND perception_type IS NULL
    AND category NOT IN ({", ".join(map(repr, SPARED))}) AND confidence < {SURE}
    ORDER BY confidence DESC, access_count DESC, created_at DESC, id DESC
"""
_SUPERSEDE = """
    UPDATE memories
    SET status = 'superseded', status_reason = 'consolidated', superseded_by = ?1, superseded_at = ?2, updated_at = ?2
    WHERE id = ?3 AND content = ?4 AND status = 'active'
    AND EXISTS (SELECT 1 FROM memories WHERE id = ?1 AND content = ?5 AND status = 'active')
"""


def plan(connection: sqlite3.Connection, session_id: str, collection: str, threshold: float) -> Consolidation:
    """What a consolidation would do; lessons more similar than `threshold` become one."""
    lessons = [Lesson(*row) for row in connection.execute(_LESSONS, (session_id, collection))]
    merges = tuple(_merges(lessons, threshold)) if len(lessons) >= FEWEST else ()
    return Consolidation(session_id, collection, len(lessons), merges, dry_run=True)


def apply(connection: sqlite3.Connection, planned: Consolidation) -> Consolidation:
    """Carries a plan out, but for lessons that are no more what they were; what was done."""
    now = clocks.iso(time.time_ns())
    done = (Merge(merge.kept, _superseded(connection, merge, now), merge.similarity) for merge in planned.merges)
    merges = tuple(merge for merge in done if merge.superseded)
    return Consolidation(planned.session_id, planned.collection, planned.considered, merges)


def forget(connection: sqlite3.Connection, memory_id: int, reason: str) -> bool:
    """Withdraws an active memory; whether lessons came back that it stood for.

    Raises:
        MemoryNotFoundError: no active memory has this id.
    """
    sql = "SELECT 1 FROM memories WHERE superseded_by = ? AND status_reason = 'consolidated' LIMIT 1"
    stood_for_others = connection.execute(sql, (memory_id,)).fetchone() is not None
    changes.invalidate(connection, memory_id, reason)
    return stood_for_others


def _merges(lessons: Iterable[Lesson], threshold: float) -> Iterator[Merge]:
    groups: defaultdict[object, list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        groups[lesson.category, distinction(lesson.content, lesson.context_json)].append(lesson)
    for group in groups.values():
        texts = [frozenset(query_words(lesson.content)) for lesson in group]
        for indices in clusters(texts, threshold):
            if len(indices) > 1:
                yield _merge(group, texts, indices)


def _merge(group: Sequence[Lesson], texts: Sequence[Words], indices: Sequence[int]) -> Merge:
    first, *others = indices
    similarity = min(jaccard(texts[first], texts[other]) for other in others)
    return Merge(group[first], tuple(group[other] for other in others), similarity)


def _superseded(connection: sqlite3.Connection, merge: Merge, now: str) -> tuple[Lesson, ...]:
    kept = merge.kept
    return tuple(
        lesson
        for lesson in merge.superseded
        if connection.execute(_SUPERSEDE, (kept.id, now, lesson.id, lesson.content, kept.content)).rowcount == 1
    )
