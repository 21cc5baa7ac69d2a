"""Turn the sightings of one message into objects, within the writer's transaction.

    find near objects -> associate -> insert or update -> merge

What is no sighting, see `is_sighting`, is stored as a memory of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..config.parameters import Parameters
from ..geometry import Covariance, Estimate, Point, isotropic
from ..models import OF_THE_ROBOT, Kind, NewMemory, Stored
from ..storage import object_rows, rows
from ..storage.object_rows import ObjectRow
from .association import NewSighting, associate
from .merging import merge
from .object_writer import ObjectWriter

_CUBE = 4
"""Sightings in a cube so many gates wide share one search: many searches cost more than rows that are not needed."""


def is_sighting(new: NewMemory, parameters: Parameters) -> bool:
    """Tell whether something is a sighting of an object: a perception of a thing with a label, at a position.

    A pose in another frame than that of the memory does not count: nothing says where that frame was.
    """
    return (
        new.kind is Kind.PERCEPTION
        and new.as_object
        and bool(new.label)
        and new.pose is not None
        and new.frame_id == parameters.memory_frame
        and new.perception_type not in OF_THE_ROBOT
    )


def store_sightings(
    writer: ObjectWriter, new: Sequence[NewMemory], covariances: Sequence[Covariance | None]
) -> tuple[Stored, ...]:
    """Store what one message holds; `covariances` are those of the positions. Return what became of each, in order."""
    stored: dict[int, Stored] = {}
    groups: defaultdict[tuple[str, ...], list[NewSighting]] = defaultdict(list)
    for index, (memory, covariance) in enumerate(zip(new, covariances, strict=True)):
        if is_sighting(memory, writer.parameters):
            sighting = new_sighting(index, memory, covariance, writer.parameters)
            key = (memory.collection, memory.frame_id, memory.map_id, *sorted(sighting.labels))
            groups[key].append(sighting)
        else:
            stored[index] = Stored(rows.insert(writer.connection, memory))
    for _, group in sorted(groups.items()):
        ordered = sorted(_without_shared_tracks(group), key=NewSighting.order)
        for sighting, row in zip(ordered, _store(writer, ordered), strict=True):
            stored[sighting.element] = Stored(row.memory_id, times_seen=row.times_seen)
    return tuple(stored[index] for index in range(len(new)))


def new_sighting(element: int, new: NewMemory, covariance: Covariance | None, parameters: Parameters) -> NewSighting:
    """Describe a sighting for its association with an object."""
    assert new.pose is not None
    rules = parameters.label_rules()
    estimate = Estimate(new.pose[:3], covariance or isotropic(parameters.object_position_stddev))
    return NewSighting(
        element,
        new,
        estimate,
        has_covariance=covariance is not None,
        labels=rules.labels(new.label),
        radius=rules.radius(new.label),
        is_tracked=bool(new.identity),
    )


def _without_shared_tracks(group: Sequence[NewSighting]) -> list[NewSighting]:
    """Ignore tracking ids that several things of one message have."""
    uses = Counter((sighting.new.source, sighting.new.identity) for sighting in group)
    shared = {track for track, count in uses.items() if count > 1}
    return [
        sighting._replace(is_tracked=False) if (sighting.new.source, sighting.new.identity) in shared else sighting
        for sighting in group
    ]


def _store(writer: ObjectWriter, group: Sequence[NewSighting]) -> list[ObjectRow]:
    """Store the sightings of one message whose labels can be mistaken for each other; return the object of each."""
    known = _near(writer, group)
    seen = [
        writer.insert(sighting) if column is None else writer.update(known[column], sighting)
        for sighting, column in zip(group, associate(group, known), strict=True)
    ]
    seen_ids = {row.memory_id for row in seen}
    return merge(writer, group, seen, [row for row in known if row.memory_id not in seen_ids])


def _near(writer: ObjectWriter, group: Sequence[NewSighting]) -> list[ObjectRow]:
    """Return the objects with one of the labels of a group that may be within a gate, by id."""
    new, labels = group[0].new, sorted(group[0].labels)
    gate = max(sighting.gate for sighting in group)
    # One search for all sightings in a cube: in a crowd they share their neighbours.
    cubes: defaultdict[tuple[float, ...], list[Point]] = defaultdict(list)
    for sighting in group:
        position = sighting.estimate.position
        cubes[tuple(part // (_CUBE * gate) for part in position)].append(position)
    found = {
        row.memory_id: row
        for positions in cubes.values()
        for row in object_rows.near(
            writer.connection,
            positions,
            radius=gate,
            frame_id=new.frame_id,
            map_id=new.map_id,
            collection=new.collection,
            labels=labels,
        )
    }
    return [found[memory_id] for memory_id in sorted(found)]
