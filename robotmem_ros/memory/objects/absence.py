"""What was clearly in view and not seen: each such view counts against an object, several lower its confidence.

Occlusion is not known here, so a view has the range and the angles in which the detector surely sees.
"""

from __future__ import annotations

import sqlite3

from ..config.label_rules import LabelRules
from ..config.parameters import Parameters
from ..storage import object_rows
from ..storage.object_rows import ObjectRow
from ..text.labels import label_key
from .arrival import is_later
from .field_of_view import in_view
from .geometry import squared_distance
from .upkeep import confidence
from .view import View


def not_seen(connection: sqlite3.Connection, view: View, parameters: Parameters, now: int) -> tuple[int, ...]:
    """Counts a view that comes in `now` against the objects that it should have shown; the ids of those.

    An object counts once in `absence_interval`, and only in views that are later than its last sighting.
    """
    space = object_rows.space_of(connection, view.frame_id or parameters.memory_frame, parameters.map_id)
    if space is None or view.reach <= 0:
        return ()
    collection, rules = view.collection or parameters.collection, parameters.label_rules()
    missed = []
    for row in object_rows.near(connection, space, collection, [view.origin], reach=view.reach):
        if _counts(row, view, parameters, now) and _should_be_seen(row, view) and not _was_seen(row, view, rules):
            row.missed += 1
            row.last_missed = view.observed_at
            object_rows.save(connection, row)
            object_rows.set_confidence(connection, row.memory_id, confidence(row, parameters.max_missed_detections))
            missed.append(row.memory_id)
    return tuple(missed)


def _should_be_seen(row: ObjectRow, view: View) -> bool:
    if view.source and view.source not in row.sources:
        return False
    if view.labels and row.label_key not in map(label_key, view.labels):
        return False
    return in_view(view, row.position)


def _was_seen(row: ObjectRow, view: View, rules: LabelRules) -> bool:
    if row.memory_id in view.seen:
        return True
    labels, radius = rules.labels(row.label), rules.radius(row.label)
    return any(
        label_key(glimpse.label) in labels and squared_distance(glimpse.position, row.position) <= radius * radius
        for glimpse in view.glimpses
    )


def _counts(row: ObjectRow, view: View, parameters: Parameters, now: int) -> bool:
    recorded, interval = view.import_key is not None, max(parameters.absence_interval * 1e9, 1)
    return all(
        is_later(view.observed_at, than, now=now, recorded=recorded) and not 0 <= view.observed_at - than < interval
        for than in (row.last_seen, row.last_missed)
    )
