"""What was clearly in view and not seen: each such view counts against an object, several lower its confidence.

Occlusion is not known here, so a view has the range and the angles in which the detector surely sees.
"""

from __future__ import annotations

import sqlite3

from ..clocks import is_later
from ..config.label_rules import LabelRules
from ..config.parameters import Parameters
from ..geometry import squared_distance
from ..storage import object_rows
from ..storage.object_rows import ObjectRow
from ..text.labels import label_key
from .field_of_view import FieldOfView
from .object_writer import confidence


def count_undetected(
    connection: sqlite3.Connection, field_of_view: FieldOfView, parameters: Parameters, now: int
) -> tuple[int, ...]:
    """Counts a view that comes in `now` against the objects that it should have shown; the ids of those.

    An object counts once in `absence_interval`, and only in views that are later than its last sighting.
    """
    space = object_rows.space_of(connection, field_of_view.frame_id or parameters.memory_frame, parameters.map_id)
    if space is None or field_of_view.max_range <= 0:
        return ()
    collection, rules = field_of_view.collection or parameters.collection, parameters.label_rules()
    missed = []
    for row in object_rows.near(connection, space, collection, [field_of_view.origin], reach=field_of_view.max_range):
        if (
            _counts(row, field_of_view, parameters, now)
            and _should_be_seen(row, field_of_view)
            and not _was_seen(row, field_of_view, rules)
        ):
            row.missed += 1
            row.last_missed = field_of_view.observed_at
            object_rows.save(connection, row)
            object_rows.set_confidence(connection, row.memory_id, confidence(row, parameters.max_missed_detections))
            missed.append(row.memory_id)
    return tuple(missed)


def _should_be_seen(row: ObjectRow, field_of_view: FieldOfView) -> bool:
    if field_of_view.source and field_of_view.source not in row.sources:
        return False
    if field_of_view.labels and row.label_key not in map(label_key, field_of_view.labels):
        return False
    return field_of_view.clearly_contains(row.position)


def _was_seen(row: ObjectRow, field_of_view: FieldOfView, rules: LabelRules) -> bool:
    if row.memory_id in field_of_view.seen:
        return True
    labels, radius = rules.labels(row.label), rules.radius(row.label)
    return any(
        label_key(detection.label) in labels and squared_distance(detection.position, row.position) <= radius * radius
        for detection in field_of_view.dropped
    )


def _counts(row: ObjectRow, field_of_view: FieldOfView, parameters: Parameters, now: int) -> bool:
    recorded, interval = field_of_view.import_key is not None, max(parameters.absence_interval * 1e9, 1)
    return all(
        is_later(field_of_view.observed_at, than, now=now, recorded=recorded)
        and not 0 <= field_of_view.observed_at - than < interval
        for than in (row.last_seen, row.last_missed)
    )
