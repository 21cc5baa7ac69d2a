"""Create, update and merge tracked objects, and note what changed.

Time, context, session and orientation of an object are those of its last sighting, content and data those of the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from ..clocks import is_later
from ..config.parameters import Parameters
from ..geometry import Point, combined, updated
from ..models import NewMemory, Size
from ..text.normal_form import label_key
from ..tracks import UNSAVED, Changes, KeptSighting, Stay, StayEnd, Track
from . import existence, sizes
from .sightings import NewSighting

_MAX_SOURCES = 16
"""Number of sources of an object that are kept."""
Retag = Callable[[str, str, str, Point], str]
"""Gives a context, of a frame and a map, the area of a position."""


class Editor:
    """Changes objects as the sightings of one message say.

    Args:
        parameters: As they were when the message arrived.
        now: When the message arrived, by the robot's clock, in nanoseconds.
        retag: Tags contexts with areas; None if there are none.
        is_behind: Whether that clock is surely behind.
        leave_rate: How often an hour things like an object leave.
    """

    def __init__(
        self,
        parameters: Parameters,
        now: int,
        retag: Retag | None,
        *,
        is_behind: bool,
        leave_rate: Callable[[Track], float],
    ) -> None:
        self._parameters = parameters
        self._now = now
        self._is_behind = is_behind
        self._retag = retag
        self._leave_rate = leave_rate
        self.changes = Changes()
        """Changes so far."""

    def create(self, sighting: NewSighting) -> Track:
        """Create an object of a sighting."""
        new, limits = sighting.new, self._parameters
        context = self._retagged(new.context, new, sighting.estimate.position)
        probability = new.confidence
        if not sighting.is_told:
            probability = existence.after_first(new.confidence, false_alarms=limits.object_false_alarms)
        track = Track(
            UNSAVED + len(self.changes.created),
            new.label,
            context,
            sighting.estimate,
            votes={new.label: 1},
            first_seen=new.observed_at,
            last_seen=new.observed_at,
            times_seen=1,
            existence=probability,
            hits=1.0,
            last_hit=new.observed_at,
            appeared=new.observed_at,
            sure=probability,
            confirmed=probability >= limits.object_min_existence,
            told=sighting.is_told,
            last_kept=new.observed_at,
            sources={new.stream: new.identity} if new.stream else {},
            sizes=(new.size,) if new.size else (),
        )
        self.changes.created.append((track, new))
        self.changes.sightings.append(KeptSighting(track.memory_id, new, sighting.estimate.position, 0))
        if track.confirmed:
            self.changes.stays.append(Stay(track.memory_id, track.appeared))
        return track

    def update(self, track: Track, sighting: NewSighting) -> Track:
        """Add a sighting to an object."""
        new, limits = sighting.new, self._parameters
        is_newest = self.is_later(new.observed_at, track.last_seen, recorded=new.import_key is not None)
        track.estimate = updated(track.estimate, sighting.estimate, count=track.times_seen, window=limits.object_window)
        track.times_seen += 1
        track.first_seen = min(track.first_seen, new.observed_at)
        self._begin_stay(track, new.observed_at)
        self._predict(track, new.observed_at)
        existence.count_detection(track, new, limits)
        if sighting.is_told:
            track.told = True
            track.existence = max(track.existence, new.confidence)
        track.sure = track.existence
        if is_newest:
            track.last_seen = self._last(new.observed_at, track.last_seen)
        if new.stream in track.sources or (new.stream and len(track.sources) < _MAX_SOURCES):
            track.sources[new.stream] = new.identity
        if new.size is not None:
            self._resize(track, sizes.sampled(track.sizes, new.size, track.times_seen, limits.object_window))
        if abs(new.observed_at - track.last_kept) < limits.sighting_interval * 1e9:
            track.subsampled += 1
        else:
            sighting_row = KeptSighting(track.memory_id, new, sighting.estimate.position, track.subsampled)
            self.changes.sightings.append(sighting_row)
            track.last_kept, track.subsampled = new.observed_at, 0
        self._change(track, {new.label: 1}, new, is_newest=is_newest, received_at=new.received_at)
        return track

    def merge(self, track: Track, other: Track, new: NewMemory) -> Track:
        """Make one object of two, one of which `new` is a sighting of: that seen more often stays, else the older."""
        self._predict(other, new.observed_at)
        is_latest = self.is_later(track.last_seen, other.last_seen, recorded=new.import_key is not None)
        latest, earlier = (track, other) if is_latest else (other, track)
        last_seen = self._last(latest.last_seen, earlier.last_seen)
        stays, goes = sorted((track, other), key=precedence)
        self.changes.merged.append((goes.memory_id, stays.memory_id))
        stays.estimate = combined(stays.estimate, goes.estimate)
        stays.first_seen = min(stays.first_seen, goes.first_seen)
        stays.last_seen = last_seen
        stays.times_seen += goes.times_seen
        looks = goes.hits
        if stays is other:
            # The last look of the one that goes detected the one that stays.
            existence.count_detection(stays, new, self._parameters)
            looks -= 1.0
        stays.existence = stays.sure = existence.either_exists(stays.existence, goes.existence)
        # An open stay of the one that goes is the same stay.
        same_state = [part.appeared for part in (stays, goes) if part.confirmed is (stays.confirmed or goes.confirmed)]
        stays.appeared = min(same_state)
        stays.hits += looks
        # What was seen as the one was not missed as the other.
        stays.misses = max(stays.misses - goes.hits, 0.0)
        stays.last_hit = max(stays.last_hit, goes.last_hit)
        stays.told = stays.told or goes.told
        stays.last_kept = max(stays.last_kept, goes.last_kept)
        stays.subsampled += goes.subsampled
        stays.sources = {**goes.sources, **stays.sources}
        self._resize(stays, sizes.joined(stays.sizes, goes.sizes))
        self._change(stays, goes.votes, new, is_newest=new.observed_at >= stays.last_seen)
        return stays

    def count_missed(self, track: Track, observed_at: int) -> None:
        """Count that an object was in view at a time and was not detected."""
        self._predict(track, observed_at)
        existence.count_miss(track, observed_at)
        self._judge(track, observed_at)
        self._columns(track)["confidence"] = track.existence

    def explains(self, track: Track, label: str, seen_at: int) -> bool:
        """Tell whether what was seen at the place of an object by another label was rather this one."""
        return existence.explains(track, label, seen_at, self._leave_rate(track))

    def _begin_stay(self, track: Track, seen_at: int) -> None:
        """Note when the stay of an object began that is seen at a time, which may be late."""
        is_back = (
            not track.confirmed and track.missed and not existence.was_hidden(track, seen_at, self._leave_rate(track))
        )
        is_earlier = track.last_missed <= seen_at < track.appeared
        if is_back or is_earlier:
            track.appeared = seen_at
        if is_earlier and track.confirmed:
            self.changes.stays.append(Stay(track.memory_id, seen_at))

    def _predict(self, track: Track, at: int) -> None:
        if track.confirmed:
            existence.predict(track, at, self._leave_rate(track))

    def _judge(self, track: Track, looked_at: int) -> None:
        """Tell whether an object is confirmed after a look: then it stays, and else its stay has ended."""
        was_confirmed, track.confirmed = track.confirmed, track.existence >= self._parameters.object_min_existence
        if track.confirmed is was_confirmed:
            return
        end = StayEnd(track.last_seen, looked_at, track.label, track.sure, track.estimate.position)
        self.changes.stays.append(Stay(track.memory_id, track.appeared, None if track.confirmed else end))

    def is_later(self, stamp: int, than: int, *, recorded: bool) -> bool:
        """Tell whether the stamp of what arrives now is newer, and not only delayed; see `clocks.is_later`."""
        return is_later(stamp, than, now=self._now, is_recorded=recorded)

    def _last(self, newest: int, before: int) -> int:
        # What a clock that is behind shows is new, but not later.
        return max(newest, before) if self._is_behind else newest

    def _change(
        self, track: Track, votes: Mapping[str, int], new: NewMemory, *, is_newest: bool, received_at: int = 0
    ) -> None:
        """Change an object with further votes on its label; if `new` is newest, its context, pose and session too."""
        self._judge(track, new.observed_at)
        for label, count in votes.items():
            track.votes[label] = track.votes.get(label, 0) + count
        latest = new.context if is_newest and new.context != "{}" else track.context
        context = self._retagged(latest, new, track.estimate.position)
        elected = _elected(track)
        columns = self._columns(track)
        columns.update(zip(("x", "y", "z"), track.estimate.position, strict=True))
        columns.update(confidence=track.existence, observed_at=track.last_seen)
        if received_at:
            columns["received_at"] = received_at
        if elected != track.label:
            columns["label"] = track.label = elected
        if context != track.context:
            columns["context"] = track.context = context
        if is_newest and new.pose is not None:
            columns.update(zip(("qx", "qy", "qz", "qw"), new.pose[3:], strict=True))
            if new.session_id:
                columns["session_id"] = new.session_id

    def _resize(self, track: Track, sample: tuple[Size, ...]) -> None:
        if sample != track.sizes:
            track.sizes = sample
            self._columns(track).update(zip(("size_x", "size_y", "size_z"), sizes.middle(sample), strict=True))

    def _columns(self, track: Track) -> dict[str, object]:
        self.changes.tracks[track.memory_id] = track
        return self.changes.columns.setdefault(track.memory_id, {})

    def _retagged(self, context: str, new: NewMemory, position: Point) -> str:
        return context if self._retag is None else self._retag(context, new.frame_id, new.map_id, position)


def precedence(track: Track) -> tuple[int, int]:
    """Return what two objects that are one are sorted by: the one that was seen more often stays, else the older."""
    return -track.times_seen, track.memory_id


def _elected(track: Track) -> str:
    """Return the label with the most votes, in its most frequent spelling; if equal, the one that the object has."""
    if len(track.votes) == 1:
        return next(iter(track.votes))
    by_key: Counter[str] = Counter()
    for label, count in track.votes.items():
        by_key[label_key(label)] += count

    def rank(label: str) -> tuple[object, ...]:
        key = label_key(label)
        return by_key[key], key == label_key(track.label), key, track.votes[label], label == track.label, label

    return max(track.votes, key=rank)
