"""What went by retention, or would go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ..config.budgets import Measure
from ..models import Kind
from .excess import Leaving

_SHOWN = 10


class Share(NamedTuple):
    """How many memories of one collection and kind went for one sort of budget."""

    reason: Measure
    collection: str
    kind: Kind
    memories: int
    payload: int
    """Bytes of texts, contexts and data."""


@dataclass(frozen=True)
class Report:
    """What a run of retention removed, or a dry run would remove."""

    shares: tuple[Share, ...]
    sightings: int
    examples: tuple[Leaving, ...]
    """The first few, in the order in which they went."""

    @property
    def memories(self) -> int:
        """All that went."""
        return sum(share.memories for share in self.shares)


class Tally:
    """Gathers a report."""

    def __init__(self) -> None:
        self.sightings = 0
        self._examples: list[Leaving] = []
        self._rows: Counter[tuple[Measure, str, Kind]] = Counter()
        self._payload: Counter[tuple[Measure, str, Kind]] = Counter()

    def add(self, reason: Measure, gone: Iterable[Leaving]) -> None:
        """Adds memories that went, in their order."""
        for one in gone:
            part = (reason, one.collection, one.kind)
            self._rows[part] += 1
            self._payload[part] += one.payload
            if len(self._examples) < _SHOWN:
                self._examples.append(one)

    def report(self) -> Report:
        """What was gathered."""
        shares = (Share(*part, self._rows[part], self._payload[part]) for part in sorted(self._rows))
        return Report(tuple(shares), self.sightings, tuple(self._examples))
