"""Fold results of the same text: the newest memory stands for them.

Two perceptions are folded if they agree in the normal form of the text, the label, the sense and the collection. Two
facts must also agree in the frame and the whole context: learning keeps facts apart that differ in it. If the query
compares places, two perceptions are the same only as far as is known: every position of the one lies within
`object_radius` of that of the other in the same field, frame and map, and without a position they agree in the area.
Objects are things at places of their own then, and are not folded.

Results are folded best first: each one that no earlier one covers stands for all candidates that are the same as it
and not covered yet. So a group has the rank of its best member, and where places count every member is near that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ..conditions.sql import EVERY_MEMORY, Sql
from ..config.label_rules import LabelRules
from ..storage import twin_rows
from ..storage.candidates import Candidates
from ..storage.snapshot import Snapshot


class Group(NamedTuple):
    """Memories of the same text, of which one is shown."""

    best: int
    """The one that ranks highest."""
    newest: int
    """The newest."""
    rest: tuple[int, ...] = ()
    """All but the newest, newest first."""


class Folding:
    """The groups of candidates that also meet a condition; each is looked up once.

    `rules` give metres for a label. `compared` is the field that places are compared by; empty if they are not.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        candidates: Candidates,
        rules: LabelRules,
        compared: str,
        also: Sql = EVERY_MEMORY,
    ) -> None:
        self._snapshot = snapshot
        self._candidates = candidates
        self._rules = rules
        self._compared = compared
        self._also = also
        self._members: dict[int, list[int]] = {}

    def groups(self, best_first: Sequence[int], n: int) -> list[Group]:
        """Fold ranked candidates into at most `n` groups, best first."""
        groups: list[Group] = []
        covered_ids: set[int] = set()
        for position, memory_id in enumerate(best_first):
            if memory_id in covered_ids:
                continue
            if memory_id not in self._members:
                # Most have no other of the same text: as many are looked up at once as are wanted.
                rest = islice(best_first, position, None)
                self._look_up([*islice((other for other in rest if other not in covered_ids), n)])
            members = [member for member in self._same_as(memory_id) if member not in covered_ids]
            covered_ids.update(members)
            groups.append(Group(memory_id, members[0], tuple(members[1:])))
            if len(groups) == n:
                break
        return groups

    def _look_up(self, ids: Sequence[int]) -> None:
        twins = twin_rows.with_twins(self._snapshot, ids, self._compared, self._rules.greatest_radius)
        self._members.update({memory_id: [memory_id] for memory_id in ids if memory_id not in twins})

    def _same_as(self, memory_id: int) -> list[int]:
        if memory_id not in self._members:
            alike = twin_rows.alike(self._snapshot, memory_id, self._rules.radius, self._compared, self._also)
            self._members[memory_id] = self._candidates.filter(self._snapshot, alike) or [memory_id]
        return self._members[memory_id]
