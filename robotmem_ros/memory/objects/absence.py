"""Count objects that were clearly in view but not detected; several misses lower their confidence.

Occlusion is unknown, so a field of view has the range and the angles within which the detector surely detects.
"""

from __future__ import annotations

from ..geometry import squared_distance
from ..storage import object_rows
from ..storage.object_rows import ObjectRow
from ..text.normal_form import label_key
from .field_of_view import FieldOfView
from .object_writer import ObjectWriter


def count_undetected(writer: ObjectWriter, view: FieldOfView) -> tuple[int, ...]:
    """Count the objects that a field of view should have shown but did not as missed; return their ids.

    An object counts once in `absence_interval`, and only in views that are later than its last sighting.
    """
    parameters = writer.parameters
    near = object_rows.near(
        writer.connection,
        [view.origin],
        radius=view.max_range,
        frame_id=view.frame_id or parameters.memory_frame,
        map_id=parameters.map_id,
        collection=view.collection or parameters.collection,
    )
    missed = [
        row for row in near if _is_due(row, view, writer) and _is_in_view(row, view) and not _is_seen(row, view, writer)
    ]
    for row in missed:
        writer.count_missed(row, view.observed_at)
    return tuple(row.memory_id for row in missed)


def _is_due(row: ObjectRow, view: FieldOfView, writer: ObjectWriter) -> bool:
    interval = max(writer.parameters.absence_interval * 1e9, 1)
    return all(
        writer.is_later(view.observed_at, than, recorded=view.import_key is not None)
        and not 0 <= view.observed_at - than < interval
        for than in (row.last_seen, row.last_missed)
    )


def _is_in_view(row: ObjectRow, view: FieldOfView) -> bool:
    if view.source and view.source not in row.sources:
        return False
    if view.labels and row.label_key not in map(label_key, view.labels):
        return False
    return view.clearly_contains(row.position)


def _is_seen(row: ObjectRow, view: FieldOfView, writer: ObjectWriter) -> bool:
    if row.memory_id in view.seen:
        return True
    rules = writer.parameters.label_rules()
    labels, radius = rules.labels(row.label), rules.radius(row.label)
    return any(
        label_key(detection.label) in labels and squared_distance(detection.position, row.position) <= radius * radius
        for detection in view.dropped
    )
