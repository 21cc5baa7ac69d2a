"""The sightings of one message become objects, within the writer's transaction.

    near -> associate -> update or insert -> keep the sighting -> count neighbours -> merge

What is no sighting, see `is_sighting`, is stored as a memory of its own.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from ..geometry import Covariance, Point
from ..models import NewMemory, Stored
from ..storage import object_rows, rows
from ..storage.object_rows import ObjectRow
from .association import Known, Track, associate, reach
from .merging import Found, count_together, merged
from .new_sighting import NewSighting, new_sighting, without_doubtful_tracks
from .object_writer import ObjectWriter

_CUBE = 4
"""Sightings in a cube so many reaches wide share one search: many searches cost more than rows that are not needed."""
_FOLLOWED_NS = 5_000_000_000
"""For so long after a sighting its tracking id says which object it is; later it may be given to another thing."""


def store_sightings(
    writer: ObjectWriter, new: Sequence[NewMemory], covariances: Sequence[Covariance | None]
) -> tuple[Stored, ...]:
    """Stores what one message says; what became of each, in the order given."""
    stored: dict[int, Stored] = {}
    groups: defaultdict[tuple[str, ...], list[NewSighting]] = defaultdict(list)
    for index, (memory, covariance) in enumerate(zip(new, covariances, strict=True)):
        one = new_sighting(index, memory, covariance, writer.parameters)
        if one is None:
            stored[index] = Stored(rows.insert(writer.connection, memory))
        else:
            key = (memory.collection, memory.frame_id, memory.map_id, *sorted(one.seen.labels))
            groups[key].append(one)
    for _, group in sorted(groups.items()):
        ordered = sorted(without_doubtful_tracks(group), key=NewSighting.order)
        for one, row in _store(writer, ordered):
            stored[one.place] = Stored(row.memory_id, times_seen=row.times_seen)
    return tuple(stored[index] for index in range(len(new)))


def _store(writer: ObjectWriter, group: Sequence[NewSighting]) -> list[Found]:
    """Stores what a message says of labels that can be mistaken for each other, in one frame."""
    connection = writer.connection
    known = _near(connection, group)
    assigned = associate(
        [one.seen for one in group],
        [Known(row.estimate, row.label_key, row.confirmed, _tracks(row, group[0].new.observed_at)) for row in known],
    )
    found = [
        Found(one, writer.insert(one) if column is None else writer.update(known[column], one))
        for one, column in zip(group, assigned, strict=True)
    ]
    count_together(connection, found)
    seen_now = {entry.row.memory_id for entry in found}
    return merged(writer, found, [row for row in known if row.memory_id not in seen_now])


def _near(connection: sqlite3.Connection, group: Sequence[NewSighting]) -> list[ObjectRow]:
    first = group[0].new
    space = object_rows.space_of(connection, first.frame_id, first.map_id)
    if space is None:
        return []
    wide = max(reach(one.seen) for one in group)
    labels = sorted(group[0].seen.labels)
    # One search for all sightings in a cube: in a crowd they share their neighbours.
    cubes: defaultdict[tuple[float, ...], list[Point]] = defaultdict(list)
    for one in group:
        place = one.seen.estimate.position
        cubes[tuple(part // (_CUBE * wide) for part in place)].append(place)
    known: dict[int, ObjectRow] = {}
    for places in cubes.values():
        rows_near = object_rows.near(connection, space, first.collection, places, reach=wide, labels=labels)
        known.update((row.memory_id, row) for row in rows_near)
    return [known[memory_id] for memory_id in sorted(known)]


def _tracks(row: ObjectRow, now_ns: int) -> frozenset[Track]:
    if abs(now_ns - row.last_seen) > _FOLLOWED_NS:
        return frozenset()
    return frozenset((source, identity) for source, identity in row.sources.items() if identity)
