"""Store the observations of a message in one transaction, and count what becomes of them."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Protocol

from ..memory import FieldOfView, Stored
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.geometry import checked_covariance
from ..memory.models import ImportKey, NewMemory, NewPerception
from ..memory.new_memory import new_perception
from ..memory.objects.field_of_view import Detection
from .batch import Batch
from .drop_reason import DropReason
from .observation import Matrix, Observation
from .sampling import Comparison

_LOG = logging.getLogger(__name__)
_PAUSE = 0.002


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
                _drop(batch, DropReason.INVALID, 1, str(error))
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
