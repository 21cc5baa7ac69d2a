"""The objects of one database: store sightings, count what was not detected, read objects and their history."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from .. import validation
from ..areas import Areas
from ..argument import MAX_HISTORY
from ..clocks import possible_stamp
from ..conditions.decay import Decay
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, MemoryNotFoundError
from ..free_space import FreeSpace
from ..geometry import Covariance, Point, checked_covariance
from ..models import Kind, NewMemory, SeenObject, Sighting, Stored
from ..progress import Progress
from ..storage import Database, imports, lived_days, map_rows, object_rows, rows, sighting_rows
from ..storage.snapshot import Transaction
from ..tracks import Track
from .editor import Retag
from .field_of_view import Detection, FieldOfView
from .sightings import is_sighting, scenes
from .tracker import Picture, Tracker, reach

_TOGETHER = 512
"""Perceptions that are no sightings, stored by one statement at most."""
_PROGRESS_INTERVAL = 0.2
"""Seconds between two reports of progress."""
_RATES_PERIOD_NS = 600 * 10**9
_LOG = logging.getLogger(__name__)


class _LeaveRates:
    """How often things leave, as the stays in a database tell; read anew every ten minutes of the robot's clock."""

    def __init__(self) -> None:
        self._period = -1
        self._rates: dict[int, float] = {}

    def rate(self, transaction: Transaction, now: int, track: Track) -> float:
        """Return how often an hour things like an object leave."""
        if now // _RATES_PERIOD_NS != self._period:
            self._period = now // _RATES_PERIOD_NS
            self._rates.clear()
        if track.memory_id not in self._rates:
            stayed = track.last_seen - track.appeared if track.confirmed else 0
            self._rates[track.memory_id] = sighting_rows.Departures(transaction).leave_rate(track.label, stayed)
        return self._rates[track.memory_id]


class _Walls:
    """The walls of the map that was asked for last, read anew when it has changed."""

    def __init__(self) -> None:
        self._digest = b""
        self._space: FreeSpace | None = None

    def is_in_sight(self, transaction: Transaction, space: object_rows.Space, start: Point, end: Point) -> bool:
        """Tell whether no wall lies between two positions; without a grid of their map and frame, none does."""
        frame, map_id, _ = space
        digest = map_rows.digest(transaction, map_id, frame)
        if digest != self._digest:
            grid = map_rows.load(transaction, map_id) if digest else None
            self._digest, self._space = digest, None if grid is None else FreeSpace(grid)
        return self._space is None or self._space.is_in_sight(start[:2], end[:2])


class Objects:
    """The objects of one database. Safe to use from several threads.

    Args:
        database: The memory's.
        areas: Tag what lies in them.
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
    """

    def __init__(
        self, database: Database, areas: Areas, parameters: Callable[[], Parameters], clock: Callable[[], int]
    ) -> None:
        self._database = database
        self._areas = areas
        self._retag = areas.retagged if areas.file is not None else None
        self._parameters = parameters
        self._clock = clock
        self._leave_rates = _LeaveRates()
        self._walls = _Walls()
        self._streams_ahead: set[str] = set()

    def store(self, new: NewMemory, *, background: bool = False) -> Future[Stored]:
        """Queue one sighting that comes by itself, by a call or in a stream, which is `background`."""
        message = self._single(new, max(self._clock(), 0))
        return self._database.write(lambda transaction: message.store(transaction)[0], background=background)

    def store_many(self, new: Sequence[NewMemory], progress: Progress | None = None) -> list[Stored]:
        """Store perceptions that came by themselves, one after the other, in one transaction, and wait for it."""
        now, parameters, messages = max(self._clock(), 0), self._parameters(), []
        for are_sightings, perceptions in groupby(new, lambda perception: is_sighting(perception, parameters)):
            if are_sightings:
                messages += [self._single(perception, now) for perception in perceptions]
            else:
                plain = [self._areas.tagged(perception) for perception in perceptions]
                messages += [
                    _Message(parameters, self._retag, self._leave_rates, now, plain[start : start + _TOGETHER])
                    for start in range(0, len(plain), _TOGETHER)
                ]
        results: list[Stored] = []
        stops: list[Exception] = []

        def store(transaction: Transaction) -> None:
            results.clear()
            for message in messages:
                if stops:
                    raise stops[0]  # none of them is stored
                results.extend(message.store(transaction))

        stored = self._database.write(store)
        try:
            while progress is not None and not _is_done(stored, _PROGRESS_INTERVAL):
                progress(len(results), len(new))
        except Exception as error:
            stops.append(error)
        stored.result()
        if progress is not None:
            progress(len(new), len(new))
        return results

    def _single(self, new: NewMemory, now: int) -> _Message:
        sighting = replace(new, observed_at=self._possible_stamp(new, now))
        return _Message(self._parameters(), self._retag, self._leave_rates, now, [sighting], {0: None})

    def store_message(
        self,
        new: Sequence[NewMemory],
        covariances: Iterable[object],
        field_of_view: FieldOfView | None,
        dropped: tuple[Detection, ...],
    ) -> Future[tuple[Stored, ...]]:
        """Queue the sightings of one message and the field of view that they were seen in.

        Raises:
            InvalidFieldError: a covariance or the field of view cannot be used, or the number of covariances differs.
        """
        now, parameters = max(self._clock(), 0), self._parameters()
        view = None if field_of_view is None else self._check_view(field_of_view, now)
        clean = _checked_covariances(covariances, len(new))
        sightings = {index: clean[index] for index, memory in enumerate(new) if is_sighting(memory, parameters)}
        # The area of an object is that of its estimated position, which only the writer knows.
        ready = [
            replace(memory, observed_at=self._possible_stamp(memory, now), received_at=now)
            if index in sightings
            else self._areas.tagged(replace(memory, received_at=now))
            for index, memory in enumerate(new)
        ]
        picture = Picture(dropped if view is None else (*view.detections, *dropped))
        message = _Message(
            parameters, self._retag, self._leave_rates, now, ready, sightings, picture, view, self._walls
        )
        return self._database.write(message.store, background=True)

    def join(self, memory_id: int) -> None:
        """Make one object of one that was moved and those of its label at its new place, and wait for it."""
        self._database.write(partial(self._join, memory_id)).result()

    def _join(self, memory_id: int, transaction: Transaction) -> None:
        moved = rows.read(transaction, [memory_id], Decay(0.0, 0)).get(memory_id)
        if moved is None or moved.pose is None or not moved.times_seen:
            return
        space = moved.frame_id, moved.map_id, moved.collection
        # Not a sighting: its time is before all of them.
        new = NewMemory(Kind.PERCEPTION, moved.content, moved.collection, 0, moved.frame_id, moved.map_id)
        parameters = self._parameters()
        message = _Message(parameters, self._retag, self._leave_rates, max(self._clock(), 0), [new])
        with message.tracker(transaction, [moved.pose[:3]], parameters.object_position_stddev, space) as tracker:
            tracker.join(memory_id, new)

    def history(self, memory_id: object, n: object) -> tuple[Sighting, ...]:
        """Return the last `n` sightings of an object that were kept, 10,000 at most, newest first.

        Raises:
            InvalidFieldError: `n` is less than 1.
            MemoryNotFoundError: no active object has this id.
        """
        object_id, limit = validation.whole("memory_id", memory_id), validation.whole("n", n)
        if limit < 1:
            raise InvalidFieldError("n", n, "must be at least 1")
        with self._database.snapshot() as snapshot:
            if not object_rows.is_object(snapshot, object_id):
                by = rows.replacement(snapshot, object_id)
                ending = "" if by is None else f"; it was replaced by {by}"
                raise MemoryNotFoundError(object_id, f"there is no such object{ending}")
            return sighting_rows.histories(snapshot, [object_id], min(limit, MAX_HISTORY)).get(object_id, ())

    def seen_last(self, limit: object, decay: Decay, include_unconfirmed: object) -> tuple[SeenObject, ...]:
        """Return the objects of the current map in all collections, those seen last first, with decayed confidence."""
        n, is_all = validation.whole("limit", limit), validation.flag("include_unconfirmed", include_unconfirmed)
        with self._database.snapshot() as snapshot:
            return object_rows.seen_last(
                snapshot, self._parameters().map_id, n, decay=decay, include_unconfirmed=is_all
            )

    def _check_view(self, view: FieldOfView, now: int) -> FieldOfView:
        clean = view.check("field_of_view")
        return replace(clean, observed_at=self._possible_stamp(clean, now))

    def _possible_stamp(self, arrived: NewMemory | FieldOfView, now: int) -> int:
        """Limit the stamp of what arrived to the latest that is possible; log a wrong one once for each stream."""
        arrived_at = now if arrived.import_key is None else arrived.import_key.recorded_at
        stamp = possible_stamp(arrived.observed_at, arrived_at)
        if stamp < arrived.observed_at and arrived.stream not in self._streams_ahead:
            self._streams_ahead.add(arrived.stream)
            ahead = (arrived.observed_at - arrived_at) / 1e9
            _LOG.warning(
                "%s: a stamp %.1f s ahead of the clock was cut (logged once)", arrived.stream or "a call", ahead
            )
        return stamp


@dataclass(frozen=True)
class _Message:
    """One message, for the writer's transaction."""

    parameters: Parameters
    retag: Retag | None
    leave_rates: _LeaveRates
    now: int
    new: Sequence[NewMemory]
    sightings: Mapping[int, Covariance | None] = field(default_factory=dict)
    """Indices of the sightings of objects, each with the covariance of its position."""
    picture: Picture | None = None
    view: FieldOfView | None = None
    walls: _Walls = field(default_factory=_Walls)

    def store(self, transaction: Transaction) -> tuple[Stored, ...]:
        """Store the memories of the message, except those that an import stored before; return the results in order."""
        track = partial(self._track, transaction)
        is_recorded = any(memory.import_key is not None for memory in self.new)
        results = imports.store_once(transaction, self.new, track) if is_recorded else track(range(len(self.new)))
        if self.view is not None and imports.claim(transaction, self.view.import_key):
            self._look(transaction, self.view, {result.memory_id for result in results})
        return results

    def _look(self, transaction: Transaction, view: FieldOfView, seen_ids: Collection[int]) -> None:
        limits = self.parameters
        space = view.frame_id or limits.memory_frame, limits.map_id, view.collection or limits.collection
        with self.tracker(transaction, [view.origin], view.max_range, space) as tracker:
            tracker.count_undetected(view, seen_ids, partial(self.walls.is_in_sight, transaction, space))

    def _track(self, transaction: Transaction, indices: Sequence[int]) -> tuple[Stored, ...]:
        plain_indices = [index for index in indices if index not in self.sightings]
        ids = rows.insert_all(transaction, [self.new[index] for index in plain_indices]) if plain_indices else ()
        results = {index: Stored(memory_id) for index, memory_id in zip(plain_indices, ids, strict=True)}
        entries = [(index, self.new[index], self.sightings[index]) for index in indices if index in self.sightings]
        for scene in scenes(entries, self.parameters):
            new = scene[0].new
            positions = [sighting.estimate.position for sighting in scene]
            space = new.frame_id, new.map_id, new.collection
            with self.tracker(transaction, positions, reach(scene), space) as tracker:
                tracks = tracker.see(scene, self.picture)
            for sighting, track in zip(scene, tracks, strict=True):
                results[sighting.element] = Stored(track.memory_id, track.times_seen == 1, track.times_seen)
        return tuple(results[index] for index in indices)

    @contextmanager
    def tracker(
        self, transaction: Transaction, positions: Sequence[Point], radius: float, space: object_rows.Space
    ) -> Iterator[Tracker]:
        """Load the objects near positions, and save what a tracker changes of them."""
        tracks, neighbours = object_rows.load(transaction, positions, radius, space)
        is_behind = lived_days.is_behind(transaction, self.now)
        leave_rate = partial(self.leave_rates.rate, transaction, self.now)
        tracker = Tracker(
            self.parameters, tracks, neighbours, now=self.now, is_behind=is_behind, retag=self.retag,
            leave_rate=leave_rate,
        )  # fmt: skip
        yield tracker
        object_rows.save(transaction, tracker.changes, max_sightings=self.parameters.max_sightings_per_object)


def _checked_covariances(values: Iterable[object], count: int) -> Sequence[Covariance | None]:
    """Check the covariances of so many positions; without any, all of them are None."""
    items = list(values)
    if not items:
        return [None] * count
    if len(items) != count:
        raise InvalidFieldError("covariances", len(items), f"must be as many as the sightings, {count}")
    return [checked_covariance(f"covariances[{index}]", value) for index, value in enumerate(items)]


def _is_done(future: Future[None], timeout: float) -> bool:
    with suppress(FutureTimeoutError):
        future.exception(timeout)
    return future.done()
