"""What was clearly in view and not seen: each such view counts against an object, several lower its confidence.

Occlusion is not known here, so a range and an angle must be given in which the detector surely sees; with a range of
zero, which is the default, nothing is ever concluded.
"""

from __future__ import annotations

import math
import sqlite3

from ..database import object_rows
from ..database.object_rows import ObjectRow
from ..parameters import Parameters
from ..records import View
from .estimate import Point, difference
from .objects import confidence

_CLEARLY = 0.9
"""In view is what lies within this share of the range and of the angle."""
_TOO_NEAR = 0.2
"""Metres; what is so near to the sensor may lie below or behind its picture."""


def not_seen(connection: sqlite3.Connection, view: View, map_id: str, parameters: Parameters) -> tuple[int, ...]:
    """Counts a view against the objects that it should have shown; the ids of those.

    An object counts once in `absence_interval`, and only in views that are later than its last sighting.
    """
    space = object_rows.space_of(connection, view.frame_id or parameters.memory_frame, map_id)
    if space is None or parameters.sensor_range <= 0:
        return ()
    collection = view.collection or parameters.collection
    reach = parameters.sensor_range
    missed = []
    for row in object_rows.near(connection, space, collection, view.origin, reach=reach, labels=view.labels):
        is_absent = row.memory_id not in view.seen and in_view(view, row.position, parameters)
        if is_absent and _counts(row, view, parameters):
            row.missed += 1
            row.last_missed = view.observed_at
            object_rows.save(connection, row)
            object_rows.set_confidence(connection, row.memory_id, confidence(row, parameters.absence_misses))
            missed.append(row.memory_id)
    return tuple(missed)


def in_view(view: View, position: Point, parameters: Parameters) -> bool:
    """Whether a position lies clearly within what the sensor surely sees."""
    to = difference(position, view.origin)
    distance = math.hypot(*to)
    if not _TOO_NEAR <= distance <= parameters.sensor_range * _CLEARLY:
        return False
    along = sum(part * direction for part, direction in zip(to, view.direction, strict=True))
    cosine = along / (distance * math.hypot(*view.direction))
    return math.acos(max(-1.0, min(1.0, cosine))) <= parameters.sensor_angle / 2 * _CLEARLY


def _counts(row: ObjectRow, view: View, parameters: Parameters) -> bool:
    latest = max(row.last_seen, row.last_missed)
    return view.observed_at > latest and view.observed_at - latest >= parameters.absence_interval * 1e9
