"""Create, update and merge tracked objects.

Time, context, session and orientation of an object are those of its last sighting, content and data those of the first.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import replace

from ..areas import Areas
from ..clocks import is_later
from ..config.parameters import Parameters
from ..geometry import combined, updated
from ..models import NewMemory
from ..storage import object_rows, rows, sighting_rows
from ..storage.object_rows import ObjectRow
from ..text.normal_form import label_key
from .association import NewSighting
from .existence import after_detection, after_first, after_miss, either, independence

_MAX_SOURCES = 16
"""Number of sources of an object that are kept."""


class ObjectWriter:
    """Writes objects in one transaction.

    Args:
        connection: The writer's.
        parameters: As they were when the message arrived.
        areas: Tag the context of an object with the area of its position.
        now: When the message arrived, by the robot's clock, in nanoseconds.
    """

    def __init__(self, connection: sqlite3.Connection, parameters: Parameters, areas: Areas, now: int) -> None:
        self.connection = connection
        self.parameters = parameters
        self._areas = areas
        self._now = now

    def insert(self, sighting: NewSighting) -> ObjectRow:
        """Create an object of a sighting."""
        new = sighting.new
        context = self._areas.retagged(new.context, new.frame_id, new.map_id, sighting.estimate.position)
        existence = new.confidence
        if not sighting.is_told:
            existence = after_first(new.confidence, false_alarms=self.parameters.object_false_alarms)
        row = ObjectRow(
            rows.insert(self.connection, replace(new, context=context, confidence=existence)),
            new.label,
            context,
            sighting.estimate,
            votes={new.label: 1},
            first_seen=new.observed_at,
            last_seen=new.observed_at,
            times_seen=1,
            existence=existence,
            hits=1.0,
            last_hit=new.observed_at,
            confirmed=existence >= self.parameters.object_min_existence,
            told=sighting.is_told,
            last_kept=new.observed_at,
            sources={new.source: new.identity} if new.source else {},
        )
        object_rows.insert(self.connection, row, new.session_id)
        sighting_rows.insert(self.connection, row.memory_id, new, sighting.estimate.position, subsampled=0)
        return row

    def update(self, row: ObjectRow, sighting: NewSighting) -> ObjectRow:
        """Add a sighting to an object."""
        new, limits = sighting.new, self.parameters
        is_newest = self.is_later(new.observed_at, row.last_seen, recorded=new.import_key is not None)
        row.estimate = updated(row.estimate, sighting.estimate, count=row.times_seen, window=limits.object_window)
        row.times_seen += 1
        row.first_seen = min(row.first_seen, new.observed_at)
        self._count_look(row, new)
        if sighting.is_told:
            row.told = True
            row.existence = max(row.existence, new.confidence)
        if is_newest:
            row.last_seen = new.observed_at
        if new.source in row.sources or (new.source and len(row.sources) < _MAX_SOURCES):
            row.sources[new.source] = new.identity
        if abs(new.observed_at - row.last_kept) < limits.sighting_interval * 1e9:
            row.subsampled += 1
        else:
            sighting_rows.insert(
                self.connection, row.memory_id, new, sighting.estimate.position, subsampled=row.subsampled
            )
            sighting_rows.subsample(self.connection, row.memory_id, limits.max_sightings_per_object)
            row.last_kept, row.subsampled = new.observed_at, 0
        self._save(row, {new.label: 1}, new, is_newest=is_newest, received_at=new.received_at)
        return row

    def merge(self, one: ObjectRow, other: ObjectRow, new: NewMemory) -> ObjectRow:
        """Make one object of two, one of which `new` is a sighting of: that seen more often stays, else the older."""
        if self.is_later(one.last_seen, other.last_seen, recorded=new.import_key is not None):
            last_seen = one.last_seen
        else:
            last_seen = other.last_seen
        stays, goes = sorted((one, other), key=lambda row: (-row.times_seen, row.memory_id))
        object_rows.supersede(self.connection, goes.memory_id, by=stays.memory_id)
        stays.estimate = combined(stays.estimate, goes.estimate)
        stays.first_seen = min(stays.first_seen, goes.first_seen)
        stays.last_seen = last_seen
        stays.times_seen += goes.times_seen
        looks = goes.hits
        if stays is other:
            # The last look of the one that goes detected the one that stays.
            self._count_look(stays, new)
            looks -= 1.0
        stays.existence = either(stays.existence, goes.existence)
        stays.hits += looks
        # What was seen as the one was not missed as the other.
        stays.misses = max(stays.misses - goes.hits, 0.0)
        stays.last_hit = max(stays.last_hit, goes.last_hit)
        stays.told = stays.told or goes.told
        stays.last_kept = max(stays.last_kept, goes.last_kept)
        stays.subsampled += goes.subsampled
        stays.sources = {**goes.sources, **stays.sources}
        self._save(stays, goes.votes, new, is_newest=new.observed_at >= stays.last_seen)
        return stays

    def count_missed(self, row: ObjectRow, observed_at: int) -> None:
        """Count that an object was in view at a time and was not detected."""
        self._add_miss(row, observed_at)
        row.confirmed = row.existence >= self.parameters.object_min_existence
        object_rows.save(self.connection, row)
        object_rows.update_memory(self.connection, row.memory_id, confidence=row.existence)

    def is_later(self, stamp: int, than: int, *, recorded: bool) -> bool:
        """Tell whether the stamp of what arrives now is newer, and not only delayed; see `clocks.is_later`."""
        return is_later(stamp, than, now=self._now, recorded=recorded)

    def _save(
        self, row: ObjectRow, votes: dict[str, int], new: NewMemory, *, is_newest: bool, received_at: int = 0
    ) -> None:
        """Write an object with further votes on its label; if `new` is newest, its context, pose and session too."""
        row.confirmed = row.existence >= self.parameters.object_min_existence
        for label, count in votes.items():
            row.votes[label] = row.votes.get(label, 0) + count
        latest = new.context if is_newest and new.context != "{}" else row.context
        context = self._areas.retagged(latest, new.frame_id, new.map_id, row.position)
        elected = _elected(row)
        changes: dict[str, object] = {}
        if elected != row.label:
            changes["label"] = row.label = elected
        if context != row.context:
            changes["context"] = row.context = context
        if is_newest and new.pose is not None:
            changes.update(zip(("qx", "qy", "qz", "qw"), new.pose[3:], strict=True))
            if new.session_id:
                changes["session_id"] = new.session_id
        x, y, z = row.position
        object_rows.save(self.connection, row)
        object_rows.update_memory(
            self.connection,
            row.memory_id,
            received_at=received_at,
            x=x,
            y=y,
            z=z,
            confidence=row.existence,
            observed_at=row.last_seen,
            **changes,
        )

    def _count_look(self, row: ObjectRow, new: NewMemory) -> None:
        """Count a sighting as evidence, unless it belongs to a look that is counted already.

        A sighting by another name is a look that detected the object, and a vote against its label.
        """
        row.misses, row.missed = row.misses + row.missed, 0.0
        since, parameters = abs(new.observed_at - row.last_hit) / 1e9, self.parameters
        if since >= parameters.look_interval:
            fresh = independence(since, parameters.absence_interval)
            f = parameters.object_false_alarms
            row.existence = after_detection(
                row.existence, row.hits, row.misses, new.confidence, false_alarms=f, fresh=fresh
            )
            row.hits += fresh
            row.last_hit = new.observed_at

    def _add_miss(self, row: ObjectRow, observed_at: int) -> None:
        since = min(abs(observed_at - row.last_seen), abs(observed_at - row.last_missed)) / 1e9
        fresh = independence(since, self.parameters.absence_interval)
        row.existence = after_miss(row.existence, row.hits, row.misses, fresh=fresh)
        row.missed += fresh
        row.last_missed = observed_at


def _elected(row: ObjectRow) -> str:
    """Return the label with the most votes, in its most frequent spelling; if equal, the one that the object has."""
    if len(row.votes) == 1:
        return next(iter(row.votes))
    by_key: Counter[str] = Counter()
    for label, count in row.votes.items():
        by_key[label_key(label)] += count

    def rank(label: str) -> tuple[object, ...]:
        key = label_key(label)
        return by_key[key], key == row.label_key, key, row.votes[label], label == row.label, label

    return max(row.votes, key=rank)
