"""Keeps objects up to date: makes one of a sighting, adds a sighting to one, makes one of two.

An object's row tells of its last sighting: time, context, session and orientation; its content and data are those of
the first one.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ..clocks import is_later
from ..config.parameters import Parameters
from ..geometry import Point, combined, updated
from ..models import NewMemory
from ..storage import object_rows, rows, sighting_rows
from ..storage.object_rows import ObjectRow
from ..text.labels import label_key
from .new_sighting import NewSighting

Placed = Callable[[str, str, str, Point], str]
"""Gives a context with the area of a position in it: context, frame, map, position -> context."""
_SOURCES = 16
"""Of so many sources at most it is kept that they saw an object."""


def confidence(row: ObjectRow, max_missed_detections: int) -> float:
    """The best confidence of an object, halved for every so many views of its place without it."""
    return float(row.best_confidence * 0.5 ** min(row.missed // max_missed_detections, 1000))


class ObjectWriter:
    """Writes objects within one transaction, of what comes in `now` by the robot's clock, in nanoseconds."""

    def __init__(self, connection: sqlite3.Connection, parameters: Parameters, placed: Placed, now: int) -> None:
        self.connection = connection
        self.parameters = parameters
        self._placed = placed
        self._now = now

    def insert(self, one: NewSighting) -> ObjectRow:
        """Makes a new object."""
        new = one.new
        context = self._placed(new.context, new.frame_id, new.map_id, one.seen.estimate.position)
        memory_id = rows.insert(self.connection, replace(new, context=context))
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
            confirmed=self.parameters.object_confirmations <= 1,
            last_kept=new.observed_at,
            sources={new.source: new.identity} if new.source else {},
        )
        object_rows.insert(self.connection, row)
        object_rows.set_described(self.connection, memory_id, new.observed_at, new.session_id)
        sighting_rows.insert(self.connection, memory_id, one.kept(thinned=0), new.session_id)
        return row

    def update(self, row: ObjectRow, one: NewSighting) -> ObjectRow:
        """Adds a sighting to an object."""
        new, limits = one.new, self.parameters
        is_newest = self._is_later(new.observed_at, row.last_seen, new)
        row.estimate = updated(row.estimate, one.seen.estimate, count=row.times_seen, window=limits.object_window)
        row.times_seen += 1
        row.first_seen = min(row.first_seen, new.observed_at)
        row.best_confidence = max(row.best_confidence, new.confidence)
        row.received_at = new.received_at
        row.confirmed = row.confirmed or row.times_seen >= limits.object_confirmations
        if is_newest:
            row.last_seen = new.observed_at
            row.missed = row.last_missed = 0
        if new.source in row.sources or (new.source and len(row.sources) < _SOURCES):
            row.sources[new.source] = new.identity
        self._vote(row, {new.label: 1})
        self._keep(row, one)
        self._save(row)
        self._retell(row, new, is_newest)
        return row

    def merge(self, one: ObjectRow, other: ObjectRow, new: NewMemory) -> ObjectRow:
        """Makes one object of two, one of which was just seen: that which was seen more often stays, else the older."""
        last_seen = one.last_seen if self._is_later(one.last_seen, other.last_seen, new) else other.last_seen
        stays, goes = sorted((one, other), key=lambda row: (-row.times_seen, row.memory_id))
        object_rows.supersede(self.connection, goes.memory_id, by=stays.memory_id)
        stays.estimate = combined(stays.estimate, goes.estimate)
        stays.first_seen = min(stays.first_seen, goes.first_seen)
        stays.last_seen = last_seen
        stays.times_seen += goes.times_seen
        stays.best_confidence = max(stays.best_confidence, goes.best_confidence)
        stays.confirmed = stays.confirmed or stays.times_seen >= self.parameters.object_confirmations
        stays.missed = min(stays.missed, goes.missed)
        stays.last_kept = max(stays.last_kept, goes.last_kept)
        stays.unkept += goes.unkept
        stays.sources = {**goes.sources, **stays.sources}
        self._vote(stays, goes.votes)
        self._save(stays)
        self._retell(stays, new, is_newest=new.observed_at >= stays.last_seen)
        return stays

    def _is_later(self, observed_at: int, than: int, new: NewMemory) -> bool:
        return is_later(observed_at, than, now=self._now, recorded=new.import_key is not None)

    def _vote(self, row: ObjectRow, votes: dict[str, int]) -> None:
        for label, count in votes.items():
            row.votes[label] = row.votes.get(label, 0) + count
        most = _elected(row)
        if most != row.label:
            row.label = most
            object_rows.set_label(self.connection, row.memory_id, most)

    def _keep(self, row: ObjectRow, one: NewSighting) -> None:
        if abs(one.new.observed_at - row.last_kept) < self.parameters.sighting_interval * 1e9:
            row.unkept += 1
            return
        sighting_rows.insert(self.connection, row.memory_id, one.kept(thinned=row.unkept), one.new.session_id)
        sighting_rows.thin_out(self.connection, row.memory_id, self.parameters.max_sightings_per_object)
        row.last_kept, row.unkept = one.new.observed_at, 0

    def _save(self, row: ObjectRow) -> None:
        object_rows.save(self.connection, row)
        object_rows.move(self.connection, row, confidence(row, self.parameters.max_missed_detections))

    def _retell(self, row: ObjectRow, new: NewMemory, is_newest: bool) -> None:
        told = new.context if is_newest and new.context != "{}" else row.context
        context = self._placed(told, new.frame_id, new.map_id, row.position)
        if context != row.context:
            object_rows.set_context(self.connection, row.memory_id, context)
            row.context = context
        if is_newest and new.pose is not None:
            object_rows.set_last_sight(self.connection, row.memory_id, new.pose[3:], new.session_id)


def _elected(row: ObjectRow) -> str:
    """The label with the most votes, in the form in which it was given most; the one it has where others are equal."""
    if len(row.votes) == 1:
        return next(iter(row.votes))
    by_key: Counter[str] = Counter()
    for label, count in row.votes.items():
        by_key[label_key(label)] += count

    def rank(label: str) -> tuple[object, ...]:
        key = label_key(label)
        return by_key[key], key == row.label_key, key, row.votes[label], label == row.label, label

    return max(row.votes, key=rank)
