"""Consolidate a session: group its similar facts, each group with a representative, and supersede repetitions.

All members of a group stay active; a recall may ask for representatives only. Superseded is only what has the same text
and adds nothing to its context. A plan only reads, so it may take its time beside writes; when applied, it skips facts
that have changed since. When its representative is withdrawn or reworded, a group is dissolved, and what it superseded
comes back.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .. import clocks
from ..learning.comparison import merged_context, outcome
from ..storage import session_rows
from ..storage.session_rows import SessionFact
from ..storage.snapshot import Snapshot, Transaction
from ..text.normal_form import digest
from ..text.statement import jaccard, statement
from .clusters import clusters

_SIMILARITY = 0.5
"""Jaccard similarity above which facts are one group: half of their words are common."""


@dataclass(frozen=True)
class Group:
    """Similar facts and their representative."""

    representative: SessionFact
    """The fact with the highest confidence, then the most recalled, then the newest."""
    members: tuple[SessionFact, ...]
    """The other facts, in the same order; they stay active."""
    superseded: tuple[SessionFact, ...]
    """Facts with the text of the representative, which replaces them."""
    similarity: float
    """The smallest Jaccard similarity of a fact to the representative."""


@dataclass(frozen=True)
class Consolidation:
    """The result of a consolidation, or of a dry run."""

    session_id: str
    collection: str
    considered: int
    """Number of facts that could be grouped."""
    groups: tuple[Group, ...]
    dry_run: bool = False

    @property
    def grouped(self) -> int:
        """Number of active facts represented by others."""
        return sum(len(group.members) for group in self.groups)

    @property
    def superseded(self) -> int:
        """Number of facts replaced by others."""
        return sum(len(group.superseded) for group in self.groups)


FEWEST = 3
"""Smallest number of facts that are grouped."""


def plan(snapshot: Snapshot, session_id: str, collection: str) -> Consolidation:
    """Plan a consolidation."""
    facts = session_rows.facts_to_consolidate(snapshot, session_id, collection)
    groups = tuple(_groups(facts)) if len(facts) >= FEWEST else ()
    return Consolidation(session_id, collection, len(facts), groups, dry_run=True)


def apply(transaction: Transaction, planned: Consolidation) -> Consolidation:
    """Carry out a plan, except for facts that have changed since; return what was done."""
    now = clocks.iso(time.time_ns())
    applied_groups = (_apply_group(transaction, group, now) for group in planned.groups)
    groups = tuple(group for group in applied_groups if group.members or group.superseded)
    return Consolidation(planned.session_id, planned.collection, planned.considered, groups)


def _groups(facts: Iterable[SessionFact]) -> Iterator[Group]:
    # Facts with different claims never represent each other.
    comparable: defaultdict[object, list[SessionFact]] = defaultdict(list)
    for fact in facts:
        stated = statement(fact.content)
        place = (fact.frame_id, fact.map_id)
        comparable[fact.category, stated.names, stated.claim, outcome(fact.context), place].append(fact)
    for alike in comparable.values():
        for indices in clusters([statement(fact.content).words for fact in alike], _SIMILARITY):
            if len(indices) > 1:
                yield _group([alike[index] for index in indices])


def _group(facts: Sequence[SessionFact]) -> Group:
    first, *rest = facts
    duplicates = [fact for fact in rest if _repeats(fact, first)]
    words = statement(first.content).words
    return Group(
        first,
        tuple(fact for fact in rest if fact not in duplicates),
        tuple(duplicates),
        min(jaccard(words, statement(fact.content).words) for fact in rest),
    )


def _repeats(fact: SessionFact, representative: SessionFact) -> bool:
    is_same = digest(fact.content) == digest(representative.content)
    return is_same and merged_context(representative.context, fact.context) == representative.context


def _apply_group(transaction: Transaction, group: Group, now: str) -> Group:
    representative = group.representative
    duplicates = [fact for fact in group.superseded if session_rows.supersede(transaction, fact, representative, now)]
    members = session_rows.set_group(transaction, representative, group.members)
    return Group(representative, tuple(members), tuple(duplicates), group.similarity)
