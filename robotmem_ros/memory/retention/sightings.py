"""The budget of sightings: the object with the longest history loses every second one of it, as often as is needed.

So all objects keep their first and last sighting and a history of about the same length, which goes back as far as it
did, only less finely. Two sightings of an object always stay, and all stay counted.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Collection
from typing import NamedTuple

LEAST = 2
"""So many sightings of an object always stay."""


class Thinning(NamedTuple):
    """An object whose history is to be halved."""

    memory_id: int
    kept: int
    """Sightings it has."""

    @property
    def left_out(self) -> int:
        """Sightings that go: the second, the fourth and so on, but never the last."""
        return (self.kept - 1) // 2


def thinnings(connection: sqlite3.Connection, budget: int, gone: Collection[int] = ()) -> list[Thinning]:
    """Which histories have to be halved, one after the other, so that so many sightings stay; the longest first.

    Those of objects in `gone` count as gone already.
    """
    counts = connection.execute("SELECT memory_id, count(*) FROM sightings GROUP BY memory_id")
    rows = [(memory_id, kept) for memory_id, kept in counts if memory_id not in gone]
    total = sum(kept for _, kept in rows)
    longest = [(-kept, memory_id) for memory_id, kept in rows if kept > LEAST]
    heapq.heapify(longest)
    found: list[Thinning] = []
    while total > budget and longest:
        kept, memory_id = heapq.heappop(longest)
        thinning = Thinning(memory_id, -kept)
        found.append(thinning)
        total -= thinning.left_out
        left = thinning.kept - thinning.left_out
        if left > LEAST:
            heapq.heappush(longest, (-left, memory_id))
    return found
