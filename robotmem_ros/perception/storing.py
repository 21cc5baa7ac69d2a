"""Bring the observations of a message into the memory frame, and store them in one transaction."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ..frames import Transform
from ..memory import FieldOfView, Stored
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.geometry import checked_covariance
from ..memory.models import ImportKey, NewMemory, NewPerception
from ..memory.new_memory import new_perception
from ..memory.objects.field_of_view import Detection
from .counters import DropReason
from .extraction import Observation
from .sampling import Comparison
from .topic_reader import Reading, TopicReader
from .values import Matrix

_LOG = logging.getLogger(__name__)
_PAUSE = 0.002
_NS = 1_000_000_000
_FIELD_OF_VIEW = -1
"""Stands for an element in the import key of a field of view."""
Origin = tuple[int, int, int]
"""Where in a recording a message stands: the first three numbers of an ImportKey."""


class PerceptionStore(Protocol):
    """Where perceptions are stored: what the intake uses of RobotMemory, and a dry run replaces."""

    @property
    def parameters(self) -> Parameters:
        """Return limits, frames and policies."""
        ...

    @property
    def waiting(self) -> int:
        """Approximate number of writes that wait."""
        ...

    def store_sightings(
        self,
        new: Sequence[NewMemory],
        covariances: Sequence[object] = (),
        *,
        field_of_view: FieldOfView | None = None,
        dropped: tuple[Detection, ...] = (),
    ) -> Future[tuple[Stored, ...]]:
        """Queue the observations of one message, what its sensor looked at, and what else it detected."""
        ...


class Storing:
    """Store complete batches."""

    def __init__(self, memory: PerceptionStore) -> None:
        self._memory = memory

    def store(self, batch: Batch) -> None:
        """Queue the observations of a complete batch in their order, and its field of view."""
        comparison = batch.topic.compare()
        new: list[NewMemory] = []
        covariances: list[Matrix | None] = []
        dropped: Counter[DropReason] = Counter()
        for index, one in enumerate(batch.observations):
            if one is None or one.is_dropped:
                continue
            if reason := comparison.reason(one):
                batch.observations[index] = replace(one, is_dropped=True)
                dropped[reason] += 1
                continue
            try:
                new.append(self._new_memory(batch, one))
            except InvalidFieldError as error:
                _drop(batch, DropReason.of_field(error.field), 1, str(error))
                batch.no_field_of_view = str(error)
            else:
                comparison.accept(one)
                covariances.append(one.covariance)
        for reason, number in dropped.items():
            _drop(batch, reason, number)
        field_of_view = batch.field_of_view()
        why_not = self._queue(batch, comparison, new, covariances, field_of_view) if new or field_of_view else ""
        if not why_not:
            comparison.commit()
        # What has not moved was seen in this interval; what has not changed may change at any time.
        if why_not or not (new or field_of_view or DropReason.MIN_DISPLACEMENT in dropped):
            batch.topic.release(batch.reading)
        if batch.reading.sensor_frame is not None:
            batch.topic.counter.field_of_view(batch.no_field_of_view or why_not)

    def _queue(
        self,
        batch: Batch,
        comparison: Comparison,
        new: Sequence[NewMemory],
        covariances: Sequence[Matrix | None],
        field_of_view: FieldOfView | None,
    ) -> str:
        """Queue what is to be written; return why it could not be, empty if it could."""
        if not self._has_room():
            full = "more waits to be written than queue_limit"
            _drop(batch, DropReason.QUEUE_FULL, len(new), full)
            return full
        dropped = batch.dropped()
        try:
            try:
                future = self._memory.store_sightings(new, covariances, field_of_view=field_of_view, dropped=dropped)
            except InvalidFieldError:
                # An unusable covariance says nothing, and is no reason to drop the rest.
                usable = [_usable(covariance) for covariance in covariances]
                future = self._memory.store_sightings(new, usable, field_of_view=field_of_view, dropped=dropped)
        except RobotMemoryError as error:
            _drop(batch, DropReason.NOT_WRITTEN, len(new), str(error))
            return str(error)
        future.add_done_callback(partial(_written, batch, comparison, len(new)))
        return ""

    def _has_room(self) -> bool:
        parameters = self._memory.parameters
        while self._memory.waiting >= parameters.queue_limit:
            if parameters.queue_policy != "block":
                return False
            time.sleep(_PAUSE)
        return True

    def _new_memory(self, batch: Batch, seen: Observation) -> NewMemory:
        new = new_perception(
            self._memory.parameters,
            NewPerception(
                description=seen.description,
                perception_type=seen.perception_type,
                data=seen.data or None,
                metadata={"format": seen.data_format} if seen.data_format else None,
                context=seen.context,
                session_id=seen.session_id,
                collection=seen.collection,
                pose=seen.pose,
                frame_id=seen.frame_id,
                label=seen.label,
                confidence=seen.confidence,
            ),
            now=lambda: seen.stamp_ns,
        )
        key = None if batch.origin is None else ImportKey(*batch.origin, seen.element)
        return replace(new, source=batch.topic.config.topic, identity=seen.identity, import_key=key)


def _drop(batch: Batch, reason: DropReason, number: int, why: str = "") -> None:
    batch.topic.counter.drop(reason, number, why)
    if number:
        _LOG.debug("%s: dropped %d: %s%s", batch, number, reason.value, f" ({why})" if why else "")


def _written(batch: Batch, comparison: Comparison, number: int, future: Future[tuple[Stored, ...]]) -> None:
    error = future.exception()
    if error is not None:
        batch.topic.not_written(batch.reading, comparison)
        _drop(batch, DropReason.NOT_WRITTEN, number, str(error))
        return
    fresh = [one.memory_id for one in future.result() if one.is_new]
    batch.topic.counter.store(len(fresh))
    if fresh:
        _LOG.debug("%s: stored as %s", batch, fresh)
    if len(fresh) < number:
        _drop(batch, DropReason.ALREADY_STORED, number - len(fresh))


def _usable(covariance: Matrix | None) -> Matrix | None:
    try:
        checked_covariance("covariance", covariance)
    except InvalidFieldError:
        return None
    return covariance


class Batch:
    """The observations of one message; `parts` are those that need a transform into `memory_frame`."""

    def __init__(self, topic: TopicReader, origin: Origin | None, reading: Reading, memory_frame: str) -> None:
        self.topic = topic
        self.origin = origin
        self.reading = reading
        self.observations: list[Observation | None] = [*reading.observations]
        """In their order; None for one without a transform."""
        self.no_field_of_view = ""
        """Why it is unknown what the sensor did not detect; empty if it is known."""
        self._memory_frame = memory_frame
        self.sensor: Transform | None = None
        """Where the sensor was."""
        self.parts = self._split()
        self._unsettled = len(self.parts)

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.topic.config.topic} at {self.reading.stamp_ns / _NS:.3f} s"

    @property
    def complete(self) -> bool:
        """Tell whether no part waits."""
        return self._unsettled == 0

    def field_of_view(self) -> FieldOfView | None:
        """Return what the sensor looked at; None if that is unknown, or not configured."""
        detector, frame = self.topic.detector, self.reading.sensor_frame
        if detector is None or not frame or self.sensor is None or self.no_field_of_view:
            return None
        found = detector.field_of_view(frame, self.sensor, self.reading.stamp_ns, self.dropped(), self._memory_frame)
        return found if self.origin is None else replace(found, import_key=ImportKey(*self.origin, _FIELD_OF_VIEW))

    def dropped(self) -> tuple[Detection, ...]:
        """Return what was detected but is not stored."""
        return tuple(
            Detection(one.label, (one.pose[0], one.pose[1], one.pose[2]))
            for one in self.observations
            if one is not None and one.is_dropped and one.pose is not None
        )

    def settle(self, part: Part, change: Callable[[Observation], Observation | None], *, missing: str = "") -> None:
        """Replace the observations of a part; `missing` is why there is no transform."""
        for index in part.indices:
            one = self.observations[index]
            if one is not None:
                self.observations[index] = change(one)
        if self.reading.sensor_frame is not None:
            self.no_field_of_view = self.no_field_of_view or missing
        self._unsettled -= 1

    def _split(self) -> list[Part]:
        groups: dict[tuple[str, int], list[int]] = {}
        for index, one in enumerate(self.reading.observations):
            frame = one.position_frame
            if frame and frame != self._memory_frame:
                groups.setdefault((frame, one.stamp_ns), []).append(index)
        sensor_frame = self.reading.sensor_frame
        sensor = (sensor_frame or "", self.reading.stamp_ns)
        if sensor_frame in {"", self._memory_frame}:
            self.no_field_of_view = f"name the frame of the sensor in field_of_view.frame, it is {sensor_frame!r} here"
        elif sensor_frame is not None:
            groups.setdefault(sensor, [])
        has_sensor = sensor_frame is not None
        return [Part(self, *key, indices, has_sensor and key == sensor) for key, indices in groups.items()]


@dataclass(frozen=True)
class Part:
    """The observations of one message that need the same transform; `sensor` if the field of view needs it, too."""

    batch: Batch
    frame_id: str
    stamp_ns: int
    indices: list[int]
    sensor: bool

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.batch.topic.config.topic} at {self.stamp_ns / _NS:.3f} s"

    @property
    def size(self) -> int:
        """Number of its observations that are to be stored."""
        return sum(not self.batch.reading.observations[index].is_dropped for index in self.indices)

    def transform(self, transform: Transform, frame_id: str) -> None:
        """Move the observations to `frame_id`."""
        if self.sensor:
            self.batch.sensor = transform
        self.batch.settle(self, lambda one: one.transformed(transform, frame_id))

    def keep(self, why: str) -> None:
        """Leave the observations in their own frame, because there is no transform."""
        self.batch.settle(self, lambda one: one.in_own_frame(self.frame_id), missing=why)

    def drop(self, why: str) -> None:
        """Drop the observations, because there is no transform."""
        self.batch.settle(self, lambda one: None, missing=why)
