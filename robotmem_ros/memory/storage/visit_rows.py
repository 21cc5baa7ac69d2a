"""Read when the robot was at a place: the times at which it observed something there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..conditions.condition import And
from ..conditions.places import POSITION, greatest_square, squared_distance
from ..conditions.spatial import Circle, SinceLastVisit
from .position_rows import find_space
from .snapshot import Snapshot


def times(snapshot: Snapshot, visit: SinceLastVisit) -> npt.NDArray[np.int64]:
    """Return when the robot observed something at the place of a visit, until now, in nanoseconds, in no order."""
    place = visit.place
    source = Circle(place).sql().source
    if source is None or find_space(snapshot, place.field).id is None:
        return np.array([], np.int64)
    check, arguments, *_ = And((replace(visit.collections, of_notes=()),)).sql()
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
