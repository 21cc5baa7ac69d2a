"""Store a message in one transaction, once it is transformed and compared with those before it."""

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
from ..memory.geometry import Matrix, checked_covariance
from ..memory.maps import PathPart
from ..memory.models import IMPORTED_BEFORE, NewMemory
from ..memory.objects.field_of_view import Detection
from .counters import DropReason
from .message import Message
from .observation import Observation

_LOG = logging.getLogger(__name__)
_PAUSE = 0.002


class PathStore(Protocol):
    """Where a path is stored."""

    def store_path(self, part: PathPart) -> Future[int]:
        """Queue poses of the robot; the future has the number of those that are new."""
        ...


class PerceptionStore(Protocol):
    """Store of perceptions and a path: the part of RobotMemory that the intake uses, and a dry run replaces."""

    @property
    def parameters(self) -> Parameters:
        """Return limits, frames and policies."""
        ...

    @property
    def maps(self) -> PathStore:
        """Return where the path is stored."""
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


def store(memory: PerceptionStore, message: Message) -> None:
    """Queue the observations of a message that needs no transform any more, in their order, and its field of view."""
    topic = message.topic
    comparison = message.comparison = topic.compare()
    observations: list[Observation] = []
    drops: Counter[DropReason] = Counter()
    for index, observation in enumerate(message.observations):
        if observation is None or observation.is_dropped:
            continue
        if comparison is not None:
            if reason := comparison.reason(observation):
                message.observations[index] = replace(observation, is_dropped=True)
                drops[reason] += 1
                continue
            comparison.accept(observation)
        observations.append(observation)
    for reason, number in drops.items():
        message.drop(reason, number)
    view = message.field_of_view()
    why_not = _queue(memory, message, observations, view) if observations or view else ""
    if comparison is not None and not why_not:
        comparison.commit()
    # A thing that has not moved still counts for the interval; an unchanged state may change at any time.
    if why_not or not (observations or view or DropReason.MIN_DISPLACEMENT in drops):
        message.release()
    if message.sensor_frame is not None:
        topic.counter.field_of_view(message.no_field_of_view or why_not)


def _queue(
    memory: PerceptionStore, message: Message, observations: Sequence[Observation], view: FieldOfView | None
) -> str:
    """Queue observations and field of view; return the problem if they could not be, else empty."""
    if not _has_room(memory):
        problem = "more waits to be written than queue_limit"
        message.drop(DropReason.QUEUE_FULL, len(observations), problem)
        return problem
    new = [observation.new for observation in observations]
    covariances = [observation.covariance for observation in observations]
    save = partial(memory.store_sightings, new, field_of_view=view, dropped=message.detections())
    try:
        try:
            future = save(covariances)
        except InvalidFieldError:
            # An unusable covariance says nothing, and is no reason to drop the rest.
            future = save([_usable(covariance) for covariance in covariances])
    except RobotMemoryError as error:
        message.drop(DropReason.NOT_WRITTEN, len(observations), str(error))
        return str(error)
    future.add_done_callback(partial(_finish_write, message, len(observations)))
    return ""


def _has_room(memory: PerceptionStore) -> bool:
    parameters = memory.parameters
    while memory.waiting >= parameters.queue_limit:
        if parameters.queue_policy != "block":
            return False
        time.sleep(_PAUSE)
    return True


def _finish_write(message: Message, number: int, future: Future[tuple[Stored, ...]]) -> None:
    error = future.exception()
    if error is not None:
        message.not_written()
        message.drop(DropReason.NOT_WRITTEN, number, str(error))
        return
    new_ids = [result.memory_id for result in future.result() if result != IMPORTED_BEFORE]
    message.topic.counter.store(len(new_ids))
    if new_ids:
        _LOG.debug("%s: stored as %s", message, new_ids)
    if len(new_ids) < number:
        message.drop(DropReason.ALREADY_STORED, number - len(new_ids))


def _usable(covariance: Matrix | None) -> Matrix | None:
    try:
        checked_covariance("covariance", covariance)
    except InvalidFieldError:
        return None
    return covariance
