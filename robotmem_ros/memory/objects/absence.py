"""Count objects that a detector should have shown but did not, in two ways; several misses disprove them.

- By a field of view: the object was clearly in it. Occlusion is unknown, so a field of view has the range and the
  angles within which the detector surely detects.
- By company: the detector shows what stands near the object, and showed both in one message before. Nothing needs to
  be known of the sensor; a wall between two objects does no harm, nor does a detector that reports one object a
  message. What hides an object from one side hides it for some time, so this counts once in `absence_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..geometry import Grid, squared_distance
from ..models import NewMemory
from ..storage import object_rows
from ..storage.object_rows import ObjectRow
from ..text.normal_form import label_key
from .association import NewSighting
from .field_of_view import Detection, FieldOfView
from .object_writer import ObjectWriter

COMPANY = 1.5
"""Metres within which two objects of one message are in company."""


class Picture(NamedTuple):
    """What is known of a message that holds all that a detector reports at once."""

    dropped: tuple[Detection, ...] = ()
    """What was detected but not stored as a sighting."""


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
        if _is_due(writer, row, view, interval) and _is_in_view(row, view) and not _is_seen(row, view, writer)
    ]
    for row in missed:
        writer.count_missed(row, view.observed_at)
    return tuple(row.memory_id for row in missed)


def count_missing(
    writer: ObjectWriter,
    sightings: Sequence[NewSighting],
    seen: Sequence[ObjectRow],
    unseen: Sequence[ObjectRow],
    picture: Picture,
) -> None:
    """Count the objects as missed that were seen before together with one that is seen now, and are not."""
    new = sightings[0].new
    interval = writer.parameters.absence_interval
    due = [row for row in unseen if _is_due(writer, row, new, interval)]
    if not due:
        return
    grid = Grid([row.position for row in seen], COMPANY)
    pairs = {
        (min(row.memory_id, seen[index].memory_id), max(row.memory_id, seen[index].memory_id)): row
        for row in due
        for index in grid.around(row.position)
        if squared_distance(row.position, seen[index].position) <= COMPANY * COMPANY
    }
    expected = {pairs[pair].memory_id: pairs[pair] for pair in object_rows.seen_together(writer.connection, pairs)}
    for row in expected.values():
        if not _is_dropped(writer, row, picture.dropped):
            writer.count_missed(row, new.observed_at)


def _is_due(writer: ObjectWriter, row: ObjectRow, look: NewMemory | FieldOfView, interval: float) -> bool:
    """Tell whether a look may count as a miss: by a detector that saw the object before, `interval` seconds later."""
    if look.source and look.source not in row.sources:
        return False
    least = max(interval * 1e9, 1)
    return all(
        writer.is_later(look.observed_at, than, recorded=look.import_key is not None)
        and not 0 <= look.observed_at - than < least
        for than in (row.last_seen, row.last_missed)
    )


def _is_dropped(writer: ObjectWriter, row: ObjectRow, dropped: Sequence[Detection]) -> bool:
    """Tell whether an object was detected, but not stored as a sighting."""
    rules = writer.parameters.label_rules()
    labels, radius = rules.labels(row.label), rules.radius(row.label)
    return any(
        label_key(detection.label) in labels and squared_distance(detection.position, row.position) <= radius * radius
        for detection in dropped
    )


def _is_in_view(row: ObjectRow, view: FieldOfView) -> bool:
    if view.labels and row.label_key not in map(label_key, view.labels):
        return False
    return view.clearly_contains(row.position)


def _is_seen(row: ObjectRow, view: FieldOfView, writer: ObjectWriter) -> bool:
    return row.memory_id in view.seen or _is_dropped(writer, row, view.dropped)
