"""Find the memories that stay by brute force: sort a list and cut it, budget after budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .worlds import DAY, NOW, OPEN_SESSION, Plain

Part = tuple[str | None, str | None]
"""Collection and kind; None is any."""
_WALL_CLOCK = 10**18


def protection(plain: Plain) -> int:
    """Return 0 if withdrawn, 2 if not consolidated, 3 for constraints, else 1."""
    if plain.status != "active":
        return 0
    if plain.category == "constraint":
        return 3
    return 2 if plain.kind == "fact" and plain.session == OPEN_SESSION else 1


def usefulness(plain: Plain) -> float:
    """Compute the formula as documented."""
    observed = NOW - round(plain.age * DAY)
    ages = plain.category not in {"constraint", "hazard", "preference"} and _WALL_CLOCK <= observed <= NOW
    days = (NOW - observed) / DAY if ages else 0.0
    return plain.confidence * (1.0 + 4.0 * plain.recalls / (plain.recalls + 4)) / (1.0 + days / 100.0)


def payload(plain: Plain) -> int:
    """Count the bytes of what was given."""
    return len(plain.content.encode()) + len('{"a":1}') + len(plain.data)


class Oracle:
    """Memories by id, which become fewer."""

    def __init__(self, world: Sequence[Plain]) -> None:
        self.left = dict(enumerate(world, start=1))
        self.gone: list[int] = []

    def order(self, part: Part = (None, None)) -> list[int]:
        """Return the ids of a part in the order of deletion."""
        collection, kind = part
        inside = [
            memory_id
            for memory_id, plain in self.left.items()
            if collection in {None, plain.collection} and kind in {None, plain.kind}
        ]
        return sorted(inside, key=self._place)

    def age(self, part: Part, days: float) -> None:
        """Remove what is older, by the clock and in whole days before the present one."""
        older_than = NOW - round(days * DAY)
        if days > 0:
            older_than = min(older_than, (NOW // DAY - math.ceil(days)) * DAY)
        for memory_id in self.order(part):
            plain = self.left[memory_id]
            observed = NOW - round(plain.age * DAY)
            if protection(plain) < 2 and _WALL_CLOCK <= observed < older_than:
                self._take(memory_id)

    def rows(self, part: Part, most: int) -> None:
        """Remove what is too much."""
        while len(order := self.order(part)) > most:
            self._take(order[0])

    def bytes(self, part: Part, most: int) -> None:
        """Remove what is too much."""
        while sum(payload(self.left[memory_id]) for memory_id in self.order(part)) > most:
            self._take(self.order(part)[0])

    def _take(self, memory_id: int) -> None:
        del self.left[memory_id]
        self.gone.append(memory_id)

    def _place(self, memory_id: int) -> tuple[float, ...]:
        plain = self.left[memory_id]
        return protection(plain), usefulness(plain), NOW - round(plain.age * DAY), memory_id
