"""The objects of one database: the sightings of a message become objects, and what was not seen counts against them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import NamedTuple

from .. import validation
from ..areas import AreaTags
from ..clocks import possible_stamp
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, MemoryNotFoundError
from ..geometry import Covariance, checked_covariance
from ..models import ImportKey, NewMemory, SeenObject, Sighting, Stored
from ..storage import Database, imports, object_rows, sighting_rows
from ..storage.decay import Decay
from .absence import count_undetected
from .field_of_view import FieldOfView
from .new_sighting import is_sighting
from .object_writer import ObjectWriter, Placed
from .sightings import store_sightings


class Objects:
    """The objects of one database. Safe to use from several threads.

    Args:
        database: The memory's.
        areas: Tag what lies in them.
        parameters: Gives the parameters as they are now.
        clock: The robot's, in nanoseconds.
    """

    def __init__(
        self, database: Database, areas: AreaTags, parameters: Callable[[], Parameters], clock: Callable[[], int]
    ) -> None:
        self._database = database
        self._areas = areas
        self._parameters = parameters
        self._clock = clock

    def store(self, new: NewMemory) -> Future[Stored]:
        """Queues one sighting that is told in a call, or comes with a stream of sightings."""
        now, parameters = max(self._clock(), 0), self._parameters()
        message = _Message([_of_now(new, now)], [None], None, now)
        return self._database.write(lambda connection: _store(connection, message, parameters, self._areas.placed)[0])

    def store_message(
        self, new: Sequence[NewMemory], covariances: Iterable[object], field_of_view: FieldOfView | None
    ) -> Future[tuple[Stored, ...]]:
        """Queues the sightings of one message, and the view that they were seen in.

        Raises:
            InvalidFieldError: a covariance or the view cannot be used, or the number of covariances is another one.
        """
        now = max(self._clock(), 0)
        clean_view = None if field_of_view is None else _checked(field_of_view, now)
        known = _checked_covariances("covariances", covariances, len(new))
        parameters = self._parameters()
        received = [replace(one, received_at=now) for one in new]
        # Of an object, the area is that of its estimated position: the writer knows it.
        ready = [_of_now(one, now) if is_sighting(one, parameters) else self._areas.tagged(one) for one in received]
        message = _Message(ready, known, clean_view, now)
        return self._database.write(lambda connection: _store(connection, message, parameters, self._areas.placed))

    def count_undetected(self, field_of_view: FieldOfView) -> Future[tuple[int, ...]]:
        """Queues a view without sightings; the future has the ids of the objects that it should have shown.

        Raises:
            InvalidFieldError: the view has no direction or no top, or a number that cannot be used.
        """
        now = max(self._clock(), 0)
        clean, parameters = _checked(field_of_view, now), self._parameters()
        return self._database.write(lambda connection: count_undetected(connection, clean, parameters, now))

    def history(self, memory_id: object, n: object) -> tuple[Sighting, ...]:
        """The last `n` sightings of an object that were kept, newest first.

        Raises:
            InvalidFieldError: `n` is less than 1.
            MemoryNotFoundError: no active object has this id.
        """
        wanted, most = validation.whole("memory_id", memory_id), validation.whole("n", n)
        if most < 1:
            raise InvalidFieldError("n", n, "must be at least 1")
        with self._database.snapshot() as connection:
            if not object_rows.is_object(connection, wanted):
                raise MemoryNotFoundError(wanted, "there is no such object")
            return sighting_rows.history(connection, wanted, most)

    def seen_last(self, limit: object, decay: Decay) -> tuple[SeenObject, ...]:
        """The objects of the current map in all collections, those seen last first, as sure as they are now."""
        most = validation.whole("limit", limit)
        with self._database.reader() as connection:
            return object_rows.seen_last(connection, self._parameters().map_id, most, decay=decay)


class _Message(NamedTuple):
    """What is to be stored of one message."""

    new: Sequence[NewMemory]
    covariances: Sequence[Covariance | None]
    """Of their positions, in the same order."""
    field_of_view: FieldOfView | None
    now: int
    """When it came in, by the robot's clock, in nanoseconds."""


def _checked(field_of_view: FieldOfView, now: int) -> FieldOfView:
    clean = field_of_view.checked("field_of_view")
    return replace(clean, observed_at=possible_stamp(clean.observed_at, _arrival(clean.import_key, now)))


def _arrival(key: ImportKey | None, now: int) -> int:
    return now if key is None else key.recorded_at


def _of_now(sighting: NewMemory, now: int) -> NewMemory:
    return replace(sighting, observed_at=possible_stamp(sighting.observed_at, _arrival(sighting.import_key, now)))


def _store(
    connection: sqlite3.Connection, message: _Message, parameters: Parameters, placed: Placed
) -> tuple[Stored, ...]:
    def store(indices: Sequence[int]) -> tuple[Stored, ...]:
        new, covariances = [message.new[index] for index in indices], [message.covariances[index] for index in indices]
        return store_sightings(ObjectWriter(connection, parameters, placed, message.now), new, covariances)

    stored = imports.store_once(connection, message.new, store)
    if message.field_of_view is not None and imports.claim(connection, message.field_of_view.import_key):
        seen = message.field_of_view.seen.union(one.memory_id for one in stored)
        count_undetected(connection, replace(message.field_of_view, seen=seen), parameters, message.now)
    return stored


def _checked_covariances(field: str, values: Iterable[object], count: int) -> Sequence[Covariance | None]:
    given = list(values)
    if not given:
        return [None] * count
    if len(given) != count:
        raise InvalidFieldError(field, len(given), f"must be as many as the sightings, {count}")
    return [checked_covariance(f"{field}[{index}]", value) for index, value in enumerate(given)]
