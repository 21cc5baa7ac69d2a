"""Track objects: decide what the sightings of one message change of the objects near them. It knows no database.

    associate -> create or update -> merge -> count missing ones

Two objects within a radius that are hardly ever seen together are one. Two of different labels are one only if a
detector reported the one much more often than the other, or both in turn, while it was there: then the other is the
same thing under a wrong label. A pillow on a chair is reported in one message with the chair, so it stays; so does what
was first seen hours after the one that stood there.

Objects that a detector should have shown but did not are counted in three ways; several misses disprove them.

- By a field of view: the object was clearly in it, and no wall of the map lay between. What else hides it is unknown:
  a field of view has the range and the angles within which the detector surely detects.
- By company: the detector shows what stands near the object, and showed both in one message before. Nothing needs to
  be known of the sensor; a wall between two objects does no harm, nor does a detector that reports one object a
  message. What hides an object from one side hides it for some time, so this counts once in ten seconds.
- By what stands in its place: another object, which was not there when it was.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from ..config.parameters import Parameters
from ..geometry import Grid, Point, squared_distance
from ..models import NewMemory
from ..persistence import LEAVE_RATE
from ..text.normal_form import label_key
from ..tracks import Neighbourhood, Pair, Track
from .association import are_at_one_place, associate, associate_misnamed
from .editor import Editor, Retag, precedence
from .existence import ABSENCE_INTERVAL
from .field_of_view import Detection, FieldOfView
from .sightings import NewSighting

_COMPANY = 1.5
"""Metres within which two objects of one message are in company."""
_NEIGHBOURHOOD = 1.5
"""Largest distance of two neighbours, in radii; messages that show both are counted."""
_MAX_NEIGHBOURS = 24
"""Neighbours of an object that are counted, the nearest ones."""
_HARDLY = 0.25
"""Two objects within a radius that are seen together in at most this share of cases are one."""
_SHARED_ERROR = 0.5
"""The error that the sightings of one visit share, as a share of that of one sighting."""
_HARDLY_ALONE = 0.1
"""The same share for two labels of a source with one object a message, which says nothing about other objects."""
_MIN_MESSAGES = 10
"""Messages after which two labels at one place that come in turn, and hardly ever together, are one thing."""

_NEVER = Neighbourhood()


class Picture(NamedTuple):
    """A message that holds all that a detector reports at once."""

    detections: tuple[Detection, ...] = ()
    """Detections that are not stored as sightings."""


def reach(scene: Sequence[NewSighting]) -> float:
    """Return the distance in metres within which an object matters to the sightings of a message."""
    return max(_COMPANY, *(sighting.gate for sighting in scene))


class Tracker:
    """Decides what one message changes.

    Args:
        parameters: As they were when the message arrived.
        tracks: The active objects within `reach` of the sightings, by id, or those within the range of a field of view.
        neighbours: How often they were seen together.
        now: When the message arrived, by the robot's clock, in nanoseconds.
        is_behind: Whether that clock is surely behind, so that later times were no mistake.
        retag: Tags contexts with areas; None if there are none.
        leave_rate: How often an hour things like an object leave.
    """

    def __init__(
        self,
        parameters: Parameters,
        tracks: Sequence[Track],
        neighbours: Mapping[Pair, Neighbourhood],
        *,
        now: int,
        is_behind: bool = False,
        retag: Retag | None = None,
        leave_rate: Callable[[Track], float] = lambda track: LEAVE_RATE,
    ) -> None:
        self._parameters = parameters
        self._tracks = tracks
        self._neighbours = dict(neighbours)
        self._editor = Editor(parameters, now, retag, is_behind=is_behind, leave_rate=leave_rate)
        self.changes = self._editor.changes
        """Changes so far."""

    def see(self, scene: Sequence[NewSighting], picture: Picture | None = None) -> list[Track]:
        """Track the sightings of one message in one collection and frame; return the object of each.

        `picture` says that the message holds all that a detector reports at once.
        """
        associated = self._associated(scene, is_picture=picture is not None)
        shown_tracks = [
            self._editor.create(sighting) if track is None else self._editor.update(track, sighting)
            for sighting, track in zip(scene, associated, strict=True)
        ]
        seen_ids = {track.memory_id for track in shown_tracks}
        unseen = [track for track in self._tracks if track.memory_id not in seen_ids]
        objects = self._merge(scene, shown_tracks, unseen, is_picture=picture is not None)
        if picture is not None:
            self._count_missing(scene[0].new, objects, unseen, picture)
        return objects

    def count_undetected(
        self, view: FieldOfView, seen_ids: Collection[int], is_in_sight: Callable[[Point, Point], bool]
    ) -> None:
        """Count as missed the objects that a field of view should have shown, but for those that were seen in it.

        An object counts once in `look_interval`, and only in views that are later than its last sighting.
        `is_in_sight` tells whether no wall lies between two positions.
        """
        missed = [
            track
            for track in self._tracks
            if self._is_due(track, view, self._parameters.look_interval)
            and _is_in_view(track, view)
            and track.memory_id not in seen_ids
            and not self._is_dropped(track, view.detections)
            and is_in_sight(view.origin, track.estimate.position)
        ]
        for track in missed:
            self._editor.count_missed(track, view.observed_at)

    def join(self, memory_id: int, new: NewMemory) -> None:
        """Make one object of a moved one and those of its label at its place, unless a message showed both.

        At its place is what the noise of one sighting does not tell apart from it. `new` says where objects are.
        """
        (joined,) = (track for track in self._tracks if track.memory_id == memory_id)
        place, labels = joined.estimate.position, self._parameters.label_rules().labels(joined.label)
        for other in [track for track in self._tracks if track is not joined and label_key(track.label) in labels]:
            is_there = math.dist(place, other.estimate.position) <= self._parameters.object_position_stddev
            if is_there and self._neighbours.get(_pair(joined, other), _NEVER).together == 0:
                stays, goes = sorted((joined, other), key=precedence)
                joined = self._editor.merge(stays, goes, new)
                self._move_neighbours()

    def _associated(self, scene: Sequence[NewSighting], *, is_picture: bool) -> Sequence[Track | None]:
        """Return the object of each sighting, None for a new one: first by its label, then by its place alone."""
        groups: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for index, sighting in enumerate(scene):
            groups[sighting.labels].append(index)
        objects: dict[int, Track] = {}
        for labels, indices in groups.items():
            alike = [track for track in self._tracks if label_key(track.label) in labels]
            for index, column in zip(indices, associate([scene[index] for index in indices], alike), strict=True):
                if column is not None:
                    objects[index] = alike[column]
        used_ids = {track.memory_id for track in objects.values()}
        free = [track for track in self._tracks if track.memory_id not in used_ids]
        unsure = [index for index in range(len(scene)) if index not in objects or not objects[index].confirmed]
        if is_picture and free and unsure:
            columns = associate_misnamed(
                [scene[index] for index in unsure],
                free,
                lambda row, column: self._explains(free[column], scene[unsure[row]], objects.get(unsure[row])),
            )
            for index, column in zip(unsure, columns, strict=True):
                if column is not None:
                    objects[index] = free[column]
        return [objects.get(index) for index in range(len(scene))]

    def _explains(self, track: Track, sighting: NewSighting, own: Track | None) -> bool:
        """Tell whether an object explains a sighting of another label, which may have a farther object of its own."""
        place = sighting.estimate.position
        if own is not None and (
            own.told
            or self._neighbours.get(_pair(track, own), _NEVER).together > 0
            or math.dist(own.estimate.position, place) < math.dist(track.estimate.position, place)
        ):
            return False
        return self._editor.explains(track, sighting.new.label, sighting.new.observed_at)

    def _merge(
        self, scene: Sequence[NewSighting], shown_tracks: Sequence[Track], unseen: Iterable[Track], *, is_picture: bool
    ) -> list[Track]:
        """Merge objects of one message with objects near them that it did not show; return the object of each."""
        self._count_together(scene, shown_tracks)
        neighbours = sorted(unseen, key=lambda track: track.estimate.position)
        if not neighbours:
            return [*shown_tracks]
        grid = Grid([track.estimate.position for track in neighbours], max(sighting.radius for sighting in scene))
        merged_ids: set[int] = set()
        objects = []
        for sighting, track in zip(scene, shown_tracks, strict=True):
            stays = track
            for neighbour in (neighbours[index] for index in grid.around(track.estimate.position)):
                if neighbour.memory_id in merged_ids:
                    continue
                if self._are_one(stays, neighbour, sighting.radius, is_picture=is_picture):
                    merged_ids.add(neighbour.memory_id)
                    stays = self._editor.merge(stays, neighbour, sighting.new)
                    self._move_neighbours()
            objects.append(stays)
        return objects

    def _are_one(self, track: Track, neighbour: Track, radius: float, *, is_picture: bool) -> bool:
        """Tell whether an object that was just seen and one that was not are one; count that it was seen alone."""
        if squared_distance(track.estimate.position, neighbour.estimate.position) > radius * radius:
            return False
        is_alike = label_key(neighbour.label) in self._parameters.label_rules().labels(track.label)
        if not is_alike and (track.told or neighbour.told or not self._are_at_one_place(track, neighbour)):
            return False
        together, alone = self._count(_pair(track, neighbour), Neighbourhood(alone=1))
        smaller, larger = sorted((track.times_seen, neighbour.times_seen))
        share = _HARDLY if is_alike or is_picture else _HARDLY_ALONE
        is_stray = smaller <= share * larger and together <= _HARDLY * alone
        if is_alike:
            return is_stray or together <= _HARDLY * smaller
        stays, goes = sorted((track, neighbour), key=precedence)
        if not self._editor.explains(stays, goes.label, goes.first_seen):
            return False
        is_rare = alone >= _MIN_MESSAGES and together <= _HARDLY_ALONE * alone
        is_in_turn = neighbour.last_seen > track.first_seen and is_rare
        return is_stray or (is_in_turn and is_picture)

    def _are_at_one_place(self, track: Track, neighbour: Track) -> bool:
        stddev = _SHARED_ERROR * self._parameters.object_position_stddev
        return are_at_one_place(track.estimate, neighbour.estimate, stddev=stddev)

    def _count_together(self, scene: Sequence[NewSighting], shown_tracks: Sequence[Track]) -> None:
        """Count that objects of one message that are near each other were seen together."""
        if len(shown_tracks) < 2:
            return
        width = max(_COMPANY, max(sighting.radius for sighting in scene) * _NEIGHBOURHOOD)
        grid = Grid([track.estimate.position for track in shown_tracks], width)
        pairs: set[Pair] = set()
        for track in shown_tracks:
            position = track.estimate.position
            near = (
                (squared, index)
                for index in grid.around(position)
                if shown_tracks[index] is not track
                and (squared := squared_distance(position, shown_tracks[index].estimate.position)) <= width * width
            )
            pairs.update(_pair(track, shown_tracks[index]) for _, index in nsmallest(_MAX_NEIGHBOURS, near))
        for pair in pairs:
            self._count(pair, Neighbourhood(together=1))

    def _count(self, pair: Pair, messages: Neighbourhood) -> Neighbourhood:
        """Count messages of two neighbours; return how many there were so far."""
        for counts in (self._neighbours, self.changes.neighbours):
            counts[pair] = counts.get(pair, _NEVER).plus(messages)
        return self._neighbours[pair]

    def _move_neighbours(self) -> None:
        # Storage moves its own counts and those among the changes.
        goes, stays = self.changes.merged[-1]
        for pair in [pair for pair in self._neighbours if goes in pair]:
            messages = self._neighbours.pop(pair)
            neighbour_id = pair[0] + pair[1] - goes
            if neighbour_id != stays:
                pair_of_stays = min(stays, neighbour_id), max(stays, neighbour_id)
                self._neighbours[pair_of_stays] = self._neighbours.get(pair_of_stays, _NEVER).plus(messages)

    def _count_missing(
        self, new: NewMemory, shown_tracks: Sequence[Track], unseen: Sequence[Track], picture: Picture
    ) -> None:
        """Count unseen objects as missed that were seen before together with a shown one."""
        tracks = [track for track in unseen if self._is_due(track, new, ABSENCE_INTERVAL)]
        if not tracks:
            return
        grid = Grid([track.estimate.position for track in shown_tracks], _COMPANY)
        for track in tracks:
            near = (shown_tracks[index] for index in grid.around(track.estimate.position))
            if self._was_in_company(track, near) and not self._is_dropped(track, picture.detections):
                self._editor.count_missed(track, new.observed_at)

    def _was_in_company(self, track: Track, neighbours: Iterable[Track]) -> bool:
        """Tell whether an object was seen together with one of others that is near it, or one stands in its place."""
        return any(
            squared_distance(track.estimate.position, neighbour.estimate.position) <= _COMPANY * _COMPANY
            and (
                self._neighbours.get(_pair(track, neighbour), _NEVER).together > 0
                or self._is_replaced(track, by=neighbour)
            )
            for neighbour in neighbours
        )

    def _is_replaced(self, track: Track, by: Track) -> bool:
        """Tell whether another object is at the place of one that was there at another time."""
        return not self._editor.explains(track, by.label, by.appeared) and self._are_at_one_place(track, by)

    def _is_due(self, track: Track, look: NewMemory | FieldOfView, interval: float) -> bool:
        """Tell whether a look may count as a miss: by a detector that saw it before, `interval` seconds later."""
        if look.stream and look.stream not in track.sources:
            return False
        min_distance = max(interval * 1e9, 1)
        return all(
            self._editor.is_later(look.observed_at, than, recorded=look.import_key is not None)
            and not 0 <= look.observed_at - than < min_distance
            for than in (track.last_seen, track.last_missed)
        )

    def _is_dropped(self, track: Track, detections: Sequence[Detection]) -> bool:
        """Tell whether an object was detected, but not stored as a sighting."""
        if not detections:
            return False
        rules = self._parameters.label_rules()
        labels, radius = rules.labels(track.label), rules.radius(track.label)
        return any(
            label_key(detection.label) in labels
            and squared_distance(detection.position, track.estimate.position) <= radius * radius
            for detection in detections
        )


def _pair(track: Track, neighbour: Track) -> Pair:
    return min(track.memory_id, neighbour.memory_id), max(track.memory_id, neighbour.memory_id)


def _is_in_view(track: Track, view: FieldOfView) -> bool:
    if view.labels and label_key(track.label) not in map(label_key, view.labels):
        return False
    return view.clearly_contains(track.estimate.position)
