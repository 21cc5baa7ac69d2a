"""Consolidate a session: group its similar facts, each group with a representative, and supersede repetitions.

All members of a group stay active; a recall may ask for representatives only. Superseded is only what has the same text
and adds nothing to its context. A plan only reads, so it may take its time beside writes; when applied, it skips facts
that have changed since. When its representative is withdrawn or reworded, a group is dissolved, and what it superseded
comes back.

A fact joins the first group whose members all have a Jaccard similarity to it above the threshold; else it starts a
group. An inverted index of the first members gives the similarities to all of them at once, so that only groups with a
similar first member are checked.
"""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .. import clocks
from ..learning.comparison import merged_context, outcome
from ..storage import session_rows
from ..storage.session_rows import SessionFact
from ..storage.snapshot import Snapshot, Transaction
from ..text.normal_form import digest
from ..text.statement import jaccard, statement

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


Words = frozenset[str]


def clusters(texts: Sequence[Words], threshold: float) -> list[list[int]]:
    """Return the indices of the texts of each cluster, ascending; the clusters are in order of their first text.

    `threshold` is in [0, 1); texts without words stay alone.
    """
    result: list[_Cluster] = []
    of_same_words: dict[Words, _Cluster] = {}
    firsts = _Firsts()
    for index, words in enumerate(texts):
        # The same words always join the same cluster.
        cluster = of_same_words.get(words)
        if cluster is not None:
            cluster.indices.append(index)
            continue
        similar = (result[position] for position in firsts.similar(words, threshold))
        cluster = next((candidate for candidate in similar if candidate.takes(words, threshold)), None)
        if cluster is None:
            cluster = _Cluster()
            result.append(cluster)
            firsts.add(words)
        cluster.add(index, words)
        if words:
            of_same_words[words] = cluster
    return [cluster.indices for cluster in result]


class _Firsts:
    """The first members of the clusters, indexed by their words."""

    def __init__(self) -> None:
        self._sizes = array("i")
        self._positions: defaultdict[str, array[int]] = defaultdict(lambda: array("i"))

    def add(self, words: Words) -> None:
        """Add the first member of a new cluster."""
        for word in words:
            self._positions[word].append(len(self._sizes))
        self._sizes.append(len(words))

    def similar(self, words: Words, threshold: float) -> list[int]:
        """Return the positions of the sets with a similarity above the threshold, ascending."""
        holding = [np.frombuffer(self._positions[word], np.intc) for word in words if word in self._positions]
        if not holding:
            return []
        sizes = np.frombuffer(self._sizes, np.intc)
        common = np.bincount(np.concatenate(holding), minlength=len(sizes))
        positions: list[int] = np.flatnonzero(common / (len(words) + sizes - common) > threshold).tolist()
        return positions


class _Cluster:
    def __init__(self) -> None:
        self.indices: list[int] = []
        self._members: list[Words] = []
        self._common: Words = frozenset()
        self._longest = 0

    def takes(self, words: Words, threshold: float) -> bool:
        """Return whether all members have a similarity above the threshold; their common words often decide at once."""
        common = len(words & self._common)
        if common / (len(words) + self._longest - common) > threshold:
            return True
        return all(jaccard(words, member) > threshold for member in reversed(self._members))

    def add(self, index: int, words: Words) -> None:
        """Add a member."""
        self.indices.append(index)
        self._members.append(words)
        self._common = self._common & words if len(self._members) > 1 else words
        self._longest = max(self._longest, len(words))
