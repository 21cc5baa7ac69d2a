"""When the robot's last visit to a place ended."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..conditions.condition import And
from ..conditions.places import POSITION, greatest_square, squared_distance
from ..conditions.spatial import NEVER, Circle, SinceLastVisit
from ..storage.snapshot import Snapshot
from .places import find_space


def last_visit(snapshot: Snapshot, visit: SinceLastVisit) -> int:
    """Return when it ended, in nanoseconds, or NEVER; a snapshot looks for it once."""
    return snapshot.read_once(partial(_last_visit, visit=visit), visit)


def _last_visit(snapshot: Snapshot, visit: SinceLastVisit) -> int:
    times = np.sort(_times(snapshot, visit))[::-1]
    starts = np.concatenate(([visit.now], times[:-1])) if len(times) else times
    (gaps,) = np.nonzero(starts - times > visit.gap)
    return int(times[gaps[0]]) if len(gaps) else NEVER


def _times(snapshot: Snapshot, visit: SinceLastVisit) -> npt.NDArray[np.int64]:
    place = visit.place
    source = Circle(place).sql().source
    if source is None or find_space(snapshot, place.field).id is None:
        return np.array([], np.int64)
    check, arguments, _ = And((replace(visit.collections, of_notes=()),)).sql()
    memories = f"({source.sql}) AS s CROSS JOIN memories AS m ON m.id = s.id"
    active = f"m.status = 'active' AND {check}"
    sql = f"SELECT m.observed_at AS id FROM {memories} WHERE {active} AND m.observed_at <= ?"
    limits = (*source.arguments, *arguments, visit.now)
    if place.field.name == POSITION:
        squared, square_arguments = squared_distance(place.target)
        sql += (
            f" UNION ALL SELECT p.observed_at FROM {memories} CROSS JOIN sightings AS p ON p.memory_id = m.id "
            f"WHERE {active} AND p.observed_at <= ? AND {squared} <= ?"
        )
        limits += (*limits, *square_arguments, greatest_square(place.max_distance))
    return snapshot.array(sql, limits)
