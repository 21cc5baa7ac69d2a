"""Count objects as missed that a detector did not report though it saw what stands near them.

Nothing needs to be known of the sensor: what was reported in one message with a neighbour was visible together with it,
and is expected again when that neighbour is. So a wall between two objects does no harm, nor does a detector that
reports one object a message. What hides an object from one side hides it for some time, so a miss counts once in
`absence_interval`.
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
    due = [row for row in unseen if is_due(writer, row, new, interval)]
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
        if not is_dropped(writer, row, picture.dropped):
            writer.count_missed(row, new.observed_at)


def is_due(writer: ObjectWriter, row: ObjectRow, look: NewMemory | FieldOfView, interval: float) -> bool:
    """Tell whether a look may count as a miss: by a detector that saw the object before, `interval` seconds later."""
    if look.source and look.source not in row.sources:
        return False
    least = max(interval * 1e9, 1)
    return all(
        writer.is_later(look.observed_at, than, recorded=look.import_key is not None)
        and not 0 <= look.observed_at - than < least
        for than in (row.last_seen, row.last_missed)
    )


def is_dropped(writer: ObjectWriter, row: ObjectRow, dropped: Sequence[Detection]) -> bool:
    """Tell whether an object was detected, but not stored as a sighting."""
    rules = writer.parameters.label_rules()
    labels, radius = rules.labels(row.label), rules.radius(row.label)
    return any(
        label_key(detection.label) in labels and squared_distance(detection.position, row.position) <= radius * radius
        for detection in dropped
    )
