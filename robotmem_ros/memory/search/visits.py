"""The condition "since the robot's last visit to a place".

A robot is at a place when it observes something there: at the times of observation of the memories whose position lies
within the radius, and of the kept sightings of objects there. Times that lie at most `visit_gap` apart belong to one
visit. The visit that still goes on, within the gap from now, is the present one; the one before is the last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..storage import bulk
from .condition import Condition, Source, Wanted
from .places import POSITION, Place, find_space, greatest_square, squared_distance, unknown_positions, within

_NEVER = -1


@dataclass
class SinceLastVisit(Wanted):
    """Observed after the end of the last visit to a place, if there was one."""

    place: Place
    gap: int
    """Nanoseconds."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""
    collections: tuple[str, tuple[object, ...]]
    """SQL for the memories that count, with its arguments."""
    _found: int | None = field(default=None, init=False)

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        end = self._end(connection)
        source = Source("SELECT id FROM memories WHERE observed_at > ?", (end,))
        return (Condition("m.observed_at > ?", (end,), source),) if end != _NEVER else ()

    def notes(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say that there was no earlier visit, so that the condition left nothing out."""
        if self._end(connection) == _NEVER:
            yield "since_last_visit: nothing tells of an earlier visit, so the time is not limited"

    def unknown(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say that no memory has the field, or that positions in other frames were not compared."""
        return unknown_positions(connection, self.place.field)

    def _end(self, connection: sqlite3.Connection) -> int:
        # Once for each query: it runs on one snapshot.
        if self._found is None:
            self._found = self._last_end(connection)
        return self._found

    def _last_end(self, connection: sqlite3.Connection) -> int:
        times = np.sort(self._times(connection))[::-1]
        starts = np.concatenate(([self.now], times[:-1])) if len(times) else times
        (gaps,) = np.nonzero(starts - times > self.gap)
        return int(times[gaps[0]]) if len(gaps) else _NEVER

    def _times(self, connection: sqlite3.Connection) -> npt.NDArray[np.int64]:
        space = find_space(connection, self.place.field)
        there = within(self.place, space).source if space.id is not None else None
        if there is None:
            return np.array([], np.int64)
        check, arguments = self.collections
        memories = f"({there.sql}) AS s CROSS JOIN memories AS m ON m.id = s.id"
        active = f"m.status = 'active' AND {check}"
        sql = f"SELECT m.observed_at AS id FROM {memories} WHERE {active} AND m.observed_at <= ?"
        limits = (*there.arguments, *arguments, self.now)
        if self.place.field.name == POSITION:
            squared, square_arguments = squared_distance(self.place.target)
            sql += (
                f" UNION ALL SELECT p.observed_at FROM {memories} CROSS JOIN sightings AS p ON p.memory_id = m.id "
                f"WHERE {active} AND p.observed_at <= ? AND {squared} <= ?"
            )
            limits += (*limits, *square_arguments, greatest_square(self.place.max_distance))
        return bulk.array(connection, sql, limits)
