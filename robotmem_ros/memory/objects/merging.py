"""Find objects that turn out to be one: two within a radius that are hardly ever seen together.

Two of different labels are one only if a detector reported the one much more often than the other: then the other is
the same thing under a wrong label. A pillow on a chair is reported in one message with the chair, so it stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from ..geometry import Grid, squared_distance
from ..storage import object_rows
from ..storage.object_rows import ObjectRow
from .absence import COMPANY
from .association import NewSighting, are_at_one_place
from .object_writer import ObjectWriter

_NEIGHBOURHOOD = 1.5
"""Radii up to which two objects are neighbours, of which it is counted how often they are seen in one message."""
_MAX_NEIGHBOURS = 24
"""Neighbours of an object that are counted, the nearest ones."""
_HARDLY = 0.25
"""Two objects within a radius that are seen together in at most this share of cases are one."""
_SHARED_ERROR = 0.5
"""The error that the sightings of one visit share, as a share of that of one sighting."""
_HARDLY_ALONE = 0.1
"""The same for two labels of a source that reports one object a message, which says nothing about the others."""

_MANY = 10
"""Messages after which two labels at one place that come in turn, and hardly ever together, are one thing."""


def merge(
    writer: ObjectWriter,
    sightings: Sequence[NewSighting],
    rows: Sequence[ObjectRow],
    unseen: Iterable[ObjectRow],
    *,
    is_picture: bool,
) -> list[ObjectRow]:
    """Merge objects of one message with objects near them that it did not show.

    Args:
        writer: Writes in the current transaction.
        sightings: Those of the message.
        rows: The object of each sighting.
        unseen: Other objects near them.
        is_picture: Whether the message holds all that a detector reports at once.

    Returns:
        The object of each sighting afterwards.
    """
    _count_together(writer.connection, sightings, rows)
    others = sorted(unseen, key=lambda row: row.position)
    grid = Grid([row.position for row in others], max((sighting.radius for sighting in sightings), default=1.0))
    gone: set[int] = set()
    result = []
    for sighting, row in zip(sightings, rows, strict=True):
        kept = row
        for other in (others[index] for index in grid.around(row.position)):
            if other.memory_id not in gone and _are_one(writer, kept, other, sighting.radius, is_picture=is_picture):
                gone.add(other.memory_id)
                kept = writer.merge(kept, other, sighting.new)
        result.append(kept)
    return result


def _count_together(
    connection: sqlite3.Connection, sightings: Sequence[NewSighting], rows: Sequence[ObjectRow]
) -> None:
    """Count that objects of one message that are near each other were seen together."""
    if len(rows) < 2:
        return
    width = max(COMPANY, max(sighting.radius for sighting in sightings) * _NEIGHBOURHOOD)
    grid = Grid([row.position for row in rows], width)
    pairs = set()
    for row in rows:
        near = (
            (squared, index)
            for index in grid.around(row.position)
            if rows[index] is not row
            and (squared := squared_distance(row.position, rows[index].position)) <= width * width
        )
        for _, index in nsmallest(_MAX_NEIGHBOURS, near):
            one, other = sorted((row.memory_id, rows[index].memory_id))
            pairs.add((one, other))
    for one, other in sorted(pairs):
        object_rows.count_neighbours(connection, one, other, together=1)


def _are_one(writer: ObjectWriter, seen: ObjectRow, other: ObjectRow, radius: float, *, is_picture: bool) -> bool:
    """Tell whether an object that was just seen and one that was not are the same; count that it was seen alone."""
    if squared_distance(seen.position, other.position) > radius * radius:
        return False
    is_alike = other.label_key in writer.parameters.label_rules().labels(seen.label)
    if not is_alike and (seen.told or other.told or not _are_at_one_place(writer, seen, other)):
        return False
    together, alone = object_rows.count_neighbours(writer.connection, seen.memory_id, other.memory_id, alone=1)
    fewer, more = sorted((seen.times_seen, other.times_seen))
    share = _HARDLY if is_alike or is_picture else _HARDLY_ALONE
    is_stray = fewer <= share * more and together <= _HARDLY * alone
    if is_alike:
        return is_stray or together <= _HARDLY * fewer
    is_in_turn = other.last_seen > seen.first_seen and alone >= _MANY and together <= _HARDLY_ALONE * alone
    return is_stray or (is_in_turn and is_picture)


def _are_at_one_place(writer: ObjectWriter, one: ObjectRow, other: ObjectRow) -> bool:
    shared = _SHARED_ERROR * writer.parameters.object_position_stddev
    return are_at_one_place(one.estimate, other.estimate, stddev=shared)
