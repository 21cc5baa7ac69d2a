"""Turn the sightings of one message into objects, within the writer's transaction.

    find near objects -> associate -> insert or update -> merge -> count missing ones

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
from .absence import COMPANY, Picture, count_missing
from .association import NewSighting, associate, associate_misnamed
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
    writer: ObjectWriter,
    new: Sequence[NewMemory],
    covariances: Sequence[Covariance | None],
    *,
    picture: Picture | None = None,
) -> tuple[Stored, ...]:
    """Store what one message holds; `covariances` are those of the positions. Return what became of each, in order.

    `picture` says that the message holds all that a detector reports at once.
    """
    stored: dict[int, Stored] = {}
    scenes: defaultdict[tuple[str, ...], list[NewSighting]] = defaultdict(list)
    for index, (memory, covariance) in enumerate(zip(new, covariances, strict=True)):
        if is_sighting(memory, writer.parameters):
            scenes[memory.collection, memory.frame_id, memory.map_id].append(
                new_sighting(index, memory, covariance, writer.parameters)
            )
        else:
            stored[index] = Stored(rows.insert(writer.connection, memory))
    for _, scene in sorted(scenes.items()):
        ordered = sorted(_without_shared_tracks(scene), key=lambda one: (sorted(one.labels), one.order()))
        for sighting, row in zip(ordered, _store(writer, ordered, picture), strict=True):
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
        is_told=not (new.source or new.received_at),
    )


def _without_shared_tracks(scene: Sequence[NewSighting]) -> list[NewSighting]:
    """Ignore tracking ids that several things of one message have."""
    uses = Counter((sighting.new.source, sighting.new.identity) for sighting in scene)
    shared = {track for track, count in uses.items() if count > 1}
    return [
        sighting._replace(is_tracked=False) if (sighting.new.source, sighting.new.identity) in shared else sighting
        for sighting in scene
    ]


def _store(writer: ObjectWriter, scene: Sequence[NewSighting], picture: Picture | None) -> list[ObjectRow]:
    """Store the sightings of one message in one collection and frame; return the object of each."""
    known = _near(writer, scene)
    seen = [
        writer.insert(sighting) if row is None else writer.update(row, sighting)
        for sighting, row in zip(scene, _associated(scene, known, is_picture=picture is not None), strict=True)
    ]
    seen_ids = {row.memory_id for row in seen}
    unseen = [row for row in known if row.memory_id not in seen_ids]
    merged = merge(writer, scene, seen, unseen, is_picture=picture is not None)
    if picture is not None:
        count_missing(writer, scene, merged, unseen, picture)
    return merged


def _associated(
    scene: Sequence[NewSighting], known: Sequence[ObjectRow], *, is_picture: bool
) -> Sequence[ObjectRow | None]:
    """Return the object of each sighting, None for a new one: first by its label, then by its place alone."""
    groups: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for index, sighting in enumerate(scene):
        groups[sighting.labels].append(index)
    found: dict[int, ObjectRow] = {}
    for labels, indices in groups.items():
        alike = [row for row in known if row.label_key in labels]
        for index, column in zip(indices, associate([scene[index] for index in indices], alike), strict=True):
            if column is not None:
                found[index] = alike[column]
    taken = {row.memory_id for row in found.values()}
    free = [row for row in known if row.memory_id not in taken]
    others = [index for index in range(len(scene)) if index not in found] if is_picture and free else []
    for index, column in zip(others, associate_misnamed([scene[index] for index in others], free), strict=True):
        if column is not None:
            found[index] = free[column]
    return [found.get(index) for index in range(len(scene))]


def _near(writer: ObjectWriter, scene: Sequence[NewSighting]) -> list[ObjectRow]:
    """Return the objects, of any label, that may be within a gate or in company of a sighting, by id."""
    new = scene[0].new
    gate = max(COMPANY, *(sighting.gate for sighting in scene))
    # One search for all sightings in a cube: in a crowd they share their neighbours.
    cubes: defaultdict[tuple[float, ...], list[Point]] = defaultdict(list)
    for sighting in scene:
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
        )
    }
    return [found[memory_id] for memory_id in sorted(found)]
