"""The sightings of one message become objects, within the writer's transaction.

    near -> associate -> update or insert -> keep the sighting -> count neighbours -> merge

A sighting needs a label and a position; what has none of them is stored as an ordinary memory. An object's row tells of
its last sighting: time, context, session and orientation; its content and data are those of the first one.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..database import neighbour_rows, object_rows, rows, sighting_rows
from ..database.neighbour_rows import Neighbours
from ..database.object_rows import ObjectRow
from ..parameters import Parameters
from ..records.memory import Kind, NewMemory, Stored
from ..records.object import Sighting
from .association import Known, Seen, Track, associate, reach
from .covariance import Covariance, isotropic
from .estimate import Estimate, combined, updated
from .geometry import Point, squared_distance

Placed = Callable[[str, str, str, Point], str]
"""Gives a context with the area of a position in it: context, frame, map, position -> context."""
_NEIGHBOURHOOD = 1.5
"""Of objects up to so many radii apart it is counted how often they are seen in one message."""
_CROWD = 24
"""Of so many neighbours at most."""
_HARDLY = 0.25
"""Two objects within a radius that are seen together in a smaller share of cases are one."""
_FOLLOWED_NS = 5_000_000_000
"""For so long after a sighting its tracking id says which object it is; later it may be given to another thing."""
_SOURCES = 16
"""Of so many sources at most it is kept that they saw an object."""


class _One(NamedTuple):
    """One sighting on its way to an object."""

    place: int
    """In the message."""
    new: NewMemory
    seen: Seen

    def order(self) -> tuple[object, ...]:
        """What the sightings of a message are sorted by, whatever order they came in."""
        new = self.new
        return (self.seen.estimate, new.observed_at, new.label, new.confidence, new.content, new.context)


class _Found(NamedTuple):
    """A sighting and the object it became."""

    one: _One
    row: ObjectRow


def store_sightings(
    connection: sqlite3.Connection,
    new: Sequence[NewMemory],
    covariances: Sequence[Covariance | None],
    parameters: Parameters,
    placed: Placed,
) -> tuple[Stored, ...]:
    """Stores what one message says; the ids of the memories that it became, in the order given."""
    ids: dict[int, int] = {}
    groups: defaultdict[tuple[str, ...], list[_One]] = defaultdict(list)
    for index, (memory, covariance) in enumerate(zip(new, covariances, strict=True)):
        one = _sighting(index, memory, covariance, parameters)
        if one is None:
            ids[index] = rows.insert(connection, memory)
        else:
            key = (memory.collection, memory.frame_id, memory.map_id, *sorted(one.seen.labels))
            groups[key].append(one)
    for _, group in sorted(groups.items()):
        ordered = sorted(_without_doubtful_tracks(group), key=_One.order)
        message = _Message(connection, parameters, placed)
        ids |= {found.one.place: found.row.memory_id for found in message.store(ordered)}
    return tuple(Stored(ids[index]) for index in range(len(new)))


def is_sighting(new: NewMemory) -> bool:
    """Whether something can become an object."""
    return new.kind is Kind.PERCEPTION and bool(new.label) and new.pose is not None


def confidence(row: ObjectRow, absence_misses: int) -> float:
    """The best confidence of an object, halved for every so many views of its place without it."""
    return float(row.best_confidence * 0.5 ** min(row.missed // absence_misses, 1000))


def _sighting(index: int, new: NewMemory, covariance: Covariance | None, parameters: Parameters) -> _One | None:
    if new.pose is None or not is_sighting(new):
        return None
    rules = parameters.label_rules()
    estimate = Estimate(new.pose[:3], covariance or isotropic(parameters.object_noise))
    track = (new.source, new.identity) if new.identity else None
    seen = Seen(estimate, rules.labels(new.label), rules.radius(new.label), covariance is not None, track)
    return _One(index, new, seen)


def _without_doubtful_tracks(group: Sequence[_One]) -> list[_One]:
    """A tracking id that several things of one message have says nothing."""
    given = Counter(one.seen.track for one in group)
    return [one if given[one.seen.track] == 1 else one._replace(seen=one.seen._replace(track=None)) for one in group]


class _Message:
    """What one message says of labels that can be mistaken for each other, in one frame."""

    def __init__(self, connection: sqlite3.Connection, parameters: Parameters, placed: Placed) -> None:
        self._connection = connection
        self._parameters = parameters
        self._placed = placed

    def store(self, group: Sequence[_One]) -> list[_Found]:
        """Updates the objects that were seen, and inserts those that are new."""
        known = self._near(group)
        assigned = associate(
            [one.seen for one in group],
            [Known(row.estimate, row.label, row.confirmed, _tracks(row, group[0].new.observed_at)) for row in known],
        )
        found = [
            _Found(one, self._inserted(one) if column is None else self._updated(known[column], one))
            for one, column in zip(group, assigned, strict=True)
        ]
        self._count_together(found)
        seen_now = {entry.row.memory_id for entry in found}
        return self._merged(found, [row for row in known if row.memory_id not in seen_now])

    def _near(self, group: Sequence[_One]) -> list[ObjectRow]:
        first = group[0].new
        space = object_rows.space_of(self._connection, first.frame_id, first.map_id)
        if space is None:
            return []
        wide = max(reach(one.seen) for one in group)
        labels = group[0].seen.labels
        known: dict[int, ObjectRow] = {}
        # One box for all sightings of a square: in a crowd they share their neighbours.
        squares = {(x // wide, y // wide) for x, y, _ in (one.seen.estimate.position for one in group)}
        for across, up in sorted(squares):
            centre = ((across + 0.5) * wide, (up + 0.5) * wide, 0.0)
            rows_near = object_rows.near(
                self._connection, space, first.collection, centre, reach=1.5 * wide, labels=labels
            )
            known.update((row.memory_id, row) for row in rows_near)
        return [known[memory_id] for memory_id in sorted(known)]

    def _inserted(self, one: _One) -> ObjectRow:
        new = one.new
        context = self._placed(new.context, new.frame_id, new.map_id, one.seen.estimate.position)
        memory_id = rows.insert(self._connection, replace(new, context=context))
        row = ObjectRow(
            memory_id,
            new.label,
            context,
            one.seen.estimate,
            votes={new.label: 1},
            first_seen=new.observed_at,
            last_seen=new.observed_at,
            times_seen=1,
            best_confidence=new.confidence,
            confirmed=self._parameters.object_confirmations <= 1,
            last_kept=new.observed_at,
            sources={new.source: new.identity} if new.source else {},
        )
        object_rows.insert(self._connection, row)
        sighting_rows.insert(self._connection, memory_id, _as_sighting(one, thinned=0))
        return row

    def _updated(self, row: ObjectRow, one: _One) -> ObjectRow:
        new, limits = one.new, self._parameters
        is_newest = new.observed_at >= row.last_seen
        row.estimate = updated(row.estimate, one.seen.estimate, times_seen=row.times_seen, memory=limits.object_memory)
        row.times_seen += 1
        row.first_seen = min(row.first_seen, new.observed_at)
        row.last_seen = max(row.last_seen, new.observed_at)
        row.best_confidence = max(row.best_confidence, new.confidence)
        row.received_at = new.received_at
        row.confirmed = row.confirmed or row.times_seen >= limits.object_confirmations
        if is_newest:
            row.missed = 0
        if new.source in row.sources or (new.source and len(row.sources) < _SOURCES):
            row.sources[new.source] = new.identity
        self._vote(row, {new.label: 1})
        self._keep(row, one)
        self._save(row)
        self._retell(row, new, is_newest)
        return row

    def _vote(self, row: ObjectRow, votes: dict[str, int]) -> None:
        for label, count in votes.items():
            row.votes[label] = row.votes.get(label, 0) + count
        most = max(row.votes, key=lambda label: (row.votes[label], label == row.label, label))
        if most != row.label:
            row.label = most
            object_rows.set_label(self._connection, row.memory_id, most)

    def _keep(self, row: ObjectRow, one: _One) -> None:
        if abs(one.new.observed_at - row.last_kept) < self._parameters.sighting_interval * 1e9:
            row.unkept += 1
            return
        sighting_rows.insert(self._connection, row.memory_id, _as_sighting(one, thinned=row.unkept))
        sighting_rows.thin_out(self._connection, row.memory_id, self._parameters.sighting_limit)
        row.last_kept, row.unkept = one.new.observed_at, 0

    def _save(self, row: ObjectRow) -> None:
        object_rows.save(self._connection, row)
        object_rows.move(self._connection, row, confidence(row, self._parameters.absence_misses))

    def _retell(self, row: ObjectRow, new: NewMemory, is_newest: bool) -> None:
        told = new.context if is_newest and new.context != "{}" else row.context
        context = self._placed(told, new.frame_id, new.map_id, row.position)
        if context != row.context:
            object_rows.set_context(self._connection, row.memory_id, context)
            row.context = context
        if is_newest and new.pose is not None:
            object_rows.set_last_sight(self._connection, row.memory_id, new.pose[3:], new.session_id)

    def _count_together(self, found: Sequence[_Found]) -> None:
        by_place = sorted(found, key=lambda entry: entry.row.position)
        widest = max((entry.one.seen.radius for entry in found), default=0.0) * _NEIGHBOURHOOD
        for index, (_, row) in enumerate(by_place):
            for _, other in by_place[index + 1 : index + 1 + _CROWD]:
                if other.position[0] - row.position[0] > widest:
                    break
                if squared_distance(row.position, other.position) <= widest * widest:
                    both = Neighbours(together=1)
                    neighbour_rows.count(self._connection, row.memory_id, other.memory_id, both)

    def _merged(self, found: Sequence[_Found], unseen: Iterable[ObjectRow]) -> list[_Found]:
        """An object that is hardly ever seen beside the one that was seen just now is the same one."""
        left = sorted(unseen, key=lambda row: row.position)
        across = [row.position[0] for row in left]
        gone: set[int] = set()
        result = []
        for one, row in found:
            kept, radius = row, one.seen.radius
            x = row.position[0]
            for other in left[bisect_left(across, x - radius) : bisect_right(across, x + radius)]:
                if other.memory_id not in gone and self._are_one(kept, other, radius):
                    gone.add(other.memory_id)
                    kept = self._merge(kept, other, one.new)
            result.append(_Found(one, kept))
        return result

    def _are_one(self, seen: ObjectRow, other: ObjectRow, radius: float) -> bool:
        if squared_distance(seen.position, other.position) > radius * radius:
            return False
        neighbour_rows.count(self._connection, seen.memory_id, other.memory_id, Neighbours(alone=1))
        known = neighbour_rows.find(self._connection, seen.memory_id, other.memory_id)
        fewer, more = sorted((seen.times_seen, other.times_seen))
        is_stray = fewer <= _HARDLY * more and known.together <= _HARDLY * known.alone
        return is_stray or known.together <= _HARDLY * fewer

    def _merge(self, one: ObjectRow, other: ObjectRow, new: NewMemory) -> ObjectRow:
        """The one that was seen more often stays, else the older one."""
        stays, goes = sorted((one, other), key=lambda row: (-row.times_seen, row.memory_id))
        object_rows.supersede(self._connection, goes.memory_id, by=stays.memory_id)
        stays.estimate = combined(stays.estimate, goes.estimate)
        stays.first_seen = min(stays.first_seen, goes.first_seen)
        stays.last_seen = max(stays.last_seen, goes.last_seen)
        stays.times_seen += goes.times_seen
        stays.best_confidence = max(stays.best_confidence, goes.best_confidence)
        stays.confirmed = stays.confirmed or stays.times_seen >= self._parameters.object_confirmations
        stays.missed = min(stays.missed, goes.missed)
        stays.last_kept = max(stays.last_kept, goes.last_kept)
        stays.unkept += goes.unkept
        stays.sources = {**goes.sources, **stays.sources}
        self._vote(stays, goes.votes)
        self._save(stays)
        self._retell(stays, new, is_newest=new.observed_at >= stays.last_seen)
        return stays


def _tracks(row: ObjectRow, now_ns: int) -> frozenset[Track]:
    if abs(now_ns - row.last_seen) > _FOLLOWED_NS:
        return frozenset()
    return frozenset((source, identity) for source, identity in row.sources.items() if identity)


def _as_sighting(one: _One, thinned: int) -> Sighting:
    new = one.new
    return Sighting(new.observed_at, one.seen.estimate.position, new.confidence, new.label, thinned)
