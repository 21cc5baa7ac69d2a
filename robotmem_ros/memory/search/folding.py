"""Fold results of the same text and place: the newest memory stands for them.

Two perceptions are the same as far as is known if they agree in the normal form of the text, the label, the sense and
the collection, and every position of the one lies within `object_radius` of that of the other in the same field, frame
and map. Without a position they must agree in the area. Two facts must agree in text, collection, frame and the whole
context: learning keeps facts apart that differ in it. Objects are things already and are never folded.

Results are folded best first: each one that no earlier one covers stands for all candidates that are the same as it
and not covered yet. So a group has one place and the rank of its best member, and every member is near that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..conditions.sql import EVERY_MEMORY, Sql
from ..config.label_rules import LabelRules
from ..storage import twin_rows
from ..storage.candidates import Candidates
from ..storage.snapshot import Snapshot


class Group(NamedTuple):
    """Memories of the same text and place, of which one is shown."""

    best: int
    """The one that ranks highest."""
    newest: int
    """The newest."""
    rest: tuple[int, ...] = ()
    """All but the newest, newest first."""


class Folding:
    """The groups of candidates that also meet a condition; each is looked up once. `rules` give metres for a label."""

    def __init__(
        self,
        snapshot: Snapshot,
        candidates: Candidates,
        rules: LabelRules,
        sorted_by: str = "position",
        also: Sql = EVERY_MEMORY,
    ) -> None:
        self._snapshot = snapshot
        self._candidates = candidates
        self._rules = rules
        self._sorted_by = sorted_by
        self._also = also
        self._members: dict[int, list[int]] = {}

    def groups(self, best_first: Sequence[int], n: int) -> list[Group]:
        """Fold ranked candidates into at most `n` groups, best first."""
        groups: list[Group] = []
        covered_ids: set[int] = set()
        for memory_id in self._looked_up(best_first, n):
            if memory_id in covered_ids:
                continue
            members = [member for member in self._same_as(memory_id) if member not in covered_ids]
            covered_ids.update(members)
            groups.append(Group(memory_id, members[0], tuple(members[1:])))
            if len(groups) == n:
                break
        return groups

    def _looked_up(self, ids: Sequence[int], n: int) -> Iterator[int]:
        # Most have no other of the same text near them: as many are asked for at once as are wanted.
        source = iter(ids)
        while batch := list(islice(source, n)):
            if unknown := [memory_id for memory_id in batch if memory_id not in self._members]:
                twins = twin_rows.with_twins(self._snapshot, unknown, self._sorted_by, self._rules.greatest_radius)
                self._members.update({memory_id: [memory_id] for memory_id in unknown if memory_id not in twins})
            yield from batch

    def _same_as(self, memory_id: int) -> list[int]:
        if memory_id not in self._members:
            alike = twin_rows.alike(self._snapshot, memory_id, self._rules.radius, self._sorted_by, self._also)
            self._members[memory_id] = self._candidates.filter(self._snapshot, alike) or [memory_id]
        return self._members[memory_id]
