"""Store what is complete of a message, in one transaction, and count what becomes of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
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
from .batch import Batch, Origin
from .drop_reason import Reason
from .observation import Matrix, Placed
from .sampling import Comparison
from .topic_config import TopicConfig


class Sink(Protocol):
    """The seam: what of RobotMemory the intake uses."""

    @property
    def parameters(self) -> Parameters:
        """Limits, frames and policies."""
        ...

    @property
    def waiting(self) -> int:
        """How many writes wait, about."""
        ...

    def store_sightings(
        self, new: Sequence[NewMemory], covariances: Sequence[object] = (), *, field_of_view: FieldOfView | None = None
    ) -> Future[tuple[Stored, ...]]:
        """Queues what is to be stored of one message, and what it looked at."""
        ...


_LOG = logging.getLogger(__name__)
_PAUSE = 0.002
_OF_VIEW = -1
"""In place of an element, in the key of a view."""


class Storing:
    """Gives a memory what is to be stored; `now` is the robot's clock in nanoseconds."""

    def __init__(self, memory: Sink, now: Callable[[], int]) -> None:
        self._memory = memory
        self._now = now

    def store(self, batch: Batch) -> None:
        """Queues a complete batch: its observations in their order, and its view."""
        comparison = batch.source.compare()
        new: list[NewMemory] = []
        covariances: list[Matrix | None] = []
        known: dict[Reason, list[Placed]] = {}
        why_no_view = batch.why_no_view
        for one in batch.placed:
            reason = comparison.reason(one)
            if reason is not None:
                known.setdefault(reason, []).append(one)
                continue
            try:
                new.append(self._new_memory(batch.source.config, one, batch.origin))
            except InvalidFieldError as error:
                _drop(batch, Reason.INVALID, 1, str(error))
                why_no_view = str(error)
            else:
                comparison.accept(one)
                covariances.append(one.observation.covariance)
        for reason, same in known.items():
            _drop(batch, reason, len(same))
            batch.leave_out(same)
        view = None if why_no_view else _keyed(batch.field_of_view(), batch.origin)
        why_not = self._queue(batch, comparison, new, covariances, view) if new or view else ""
        if not why_not:
            comparison.commit()
        # What has not moved was looked at for this interval; what has not changed may do so at any time.
        if why_not or not (new or view or Reason.MIN_DISPLACEMENT in known):
            batch.source.lost(batch.reading)
        if batch.is_view:
            batch.source.tally.view(why_no_view or why_not)

    def _queue(
        self,
        batch: Batch,
        comparison: Comparison,
        new: Sequence[NewMemory],
        covariances: Sequence[Matrix | None],
        view: FieldOfView | None,
    ) -> str:
        """Hands over, and counts what becomes of it; why it could not be, empty if it could."""
        if not self._has_room():
            full = "more waits to be written than queue_limit"
            _drop(batch, Reason.QUEUE_FULL, len(new), full)
            return full
        try:
            try:
                future = self._memory.store_sightings(new, covariances, field_of_view=view)
            except InvalidFieldError:
                # A covariance that is none says nothing, and is no reason to lose the rest.
                usable = [_usable(covariance) for covariance in covariances]
                future = self._memory.store_sightings(new, usable, field_of_view=view)
        except RobotMemoryError as error:
            _drop(batch, Reason.NOT_WRITTEN, len(new), str(error))
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

    def _new_memory(self, topic: TopicConfig, placed: Placed, origin: Origin | None) -> NewMemory:
        seen = placed.observation
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
                frame_id=placed.frame_id,
                label=seen.label,
                confidence=seen.confidence,
                observed_at=seen.stamp_ns,
            ),
            now=self._now,
        )
        key = None if origin is None else ImportKey(*origin, placed.element)
        return replace(new, source=topic.topic, identity=seen.identity, import_key=key)


def _drop(batch: Batch, reason: Reason, number: int, why: str = "") -> None:
    batch.source.tally.settle(reason, number, why)
    if number:
        _LOG.debug("%s: dropped %d: %s%s", batch, number, reason.value, f" ({why})" if why else "")


def _written(batch: Batch, comparison: Comparison, number: int, future: Future[tuple[Stored, ...]]) -> None:
    error = future.exception()
    if error is not None:
        batch.source.not_written(batch.reading, comparison)
        _drop(batch, Reason.NOT_WRITTEN, number, str(error))
        return
    fresh = [one.memory_id for one in future.result() if one.is_new]
    batch.source.tally.settle(None, len(fresh))
    if fresh:
        _LOG.debug("%s: stored as %s", batch, fresh)
    if len(fresh) < number:
        _drop(batch, Reason.ALREADY_STORED, number - len(fresh))


def _keyed(view: FieldOfView | None, origin: Origin | None) -> FieldOfView | None:
    if view is None or origin is None:
        return view
    return replace(view, import_key=ImportKey(*origin, _OF_VIEW))


def _usable(covariance: Matrix | None) -> Matrix | None:
    try:
        checked_covariance("covariance", covariance)
    except InvalidFieldError:
        return None
    return covariance
