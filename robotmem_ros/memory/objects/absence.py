"""Count objects that were clearly in view but not detected; several misses disprove them.

Occlusion is unknown, so a field of view has the range and the angles within which the detector surely detects.
"""

from __future__ import annotations

from ..storage import object_rows
from ..storage.object_rows import ObjectRow
from ..text.normal_form import label_key
from .company import is_dropped, is_due
from .field_of_view import FieldOfView
from .object_writer import ObjectWriter


def count_undetected(writer: ObjectWriter, view: FieldOfView) -> tuple[int, ...]:
    """Count the objects that a field of view should have shown but did not as missed; return their ids.

    An object counts once in `look_interval`, and only in views that are later than its last sighting.
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
    interval = parameters.look_interval
    missed = [
        row
        for row in near
        if is_due(writer, row, view, interval) and _is_in_view(row, view) and not _is_seen(row, view, writer)
    ]
    for row in missed:
        writer.count_missed(row, view.observed_at)
    return tuple(row.memory_id for row in missed)


def _is_in_view(row: ObjectRow, view: FieldOfView) -> bool:
    if view.labels and row.label_key not in map(label_key, view.labels):
        return False
    return view.clearly_contains(row.position)


def _is_seen(row: ObjectRow, view: FieldOfView, writer: ObjectWriter) -> bool:
    return row.memory_id in view.seen or is_dropped(writer, row, view.dropped)
