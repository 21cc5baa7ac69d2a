"""Transform perceptions that come one by one, by a service or ~/perception, into the memory frame at their stamps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from ..frames import FrameError, Transform, TransformBuffer, TransformQueue
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.models import NewMemory
from .observation import Observation


class Placed(NamedTuple):
    """A perception that needs no transform any more."""

    new: NewMemory
    reason: str = ""
    """Why it stays in its own frame, in which nothing becomes an object; empty if all of it is in the memory frame."""


PlacePerception = Callable[[NewMemory], Future[Placed]]
"""Function that moves a perception into the memory frame, now or when its transform has come."""


class Placing:
    """Perceptions on their way into the memory frame. Safe to use from several threads.

    Each waits at most `transform_timeout` seconds of each of `clocks` for its transform; at most `queue_limit` wait.
    """

    def __init__(
        self,
        buffer: TransformBuffer,
        parameters: Parameters,
        clocks: Sequence[Callable[[], float]] = (time.monotonic,),
    ) -> None:
        self._buffer = buffer
        self._memory_frame = parameters.memory_frame
        self._queue: TransformQueue[tuple[Observation, Future[Placed]]] = TransformQueue(
            buffer,
            self._memory_frame,
            timeout=parameters.transform_timeout,
            capacity=parameters.queue_limit,
            clocks=clocks,
        )

    def __len__(self) -> int:
        return len(self._queue)

    def needs_transform(self, new: NewMemory) -> bool:
        """Tell whether a perception has a position in another frame than that of the memory."""
        return Observation(new).position_frame not in {"", self._memory_frame}

    def place(self, new: NewMemory) -> Future[Placed]:
        """Return a future of the perception in the memory frame: done now, or when its transform has come.

        Without a transform the perception stays as it is. The future fails with InvalidFieldError if a transformed
        position lies too far out.
        """
        placed: Future[Placed] = Future()
        if not self.needs_transform(new):
            placed.set_result(Placed(new))
            return placed
        observation = Observation(new, has_orientation=True)
        frame = new.frame_id, new.observed_at
        try:
            result: Transform | FrameError = self._buffer.lookup(self._memory_frame, *frame)
        except FrameError as error:
            result = error
        if isinstance(result, Transform) or not result.waiting_helps:
            self._settle(observation, placed, result)
        elif (oldest := self._queue.put((observation, placed), *frame)) is not None:
            self._keep(*oldest, "more perceptions wait for transforms than queue_limit")
        return placed

    def keep(self, new: NewMemory, problem: str) -> Future[Placed]:
        """Return a perception that stays in its own frame, because of a `problem`."""
        placed: Future[Placed] = Future()
        self._keep(Observation(new), placed, problem)
        return placed

    def collect(self) -> None:
        """Go on with what no longer waits; to be called when transforms came, and from time to time."""
        for (observation, placed), result in self._queue.collect():
            self._settle(observation, placed, result)

    def finish(self) -> None:
        """Go on with everything that waits, because no more transforms will come."""
        for (observation, placed), result in self._queue.flush():
            self._settle(observation, placed, result)

    def _settle(self, observation: Observation, placed: Future[Placed], result: Transform | FrameError) -> None:
        if not isinstance(result, Transform):
            self._keep(observation, placed, str(result))
            return
        try:
            new = observation.in_frame(result, self._memory_frame).new
        except InvalidFieldError as error:
            placed.set_exception(error)
        else:
            placed.set_result(Placed(new))

    def _keep(self, observation: Observation, placed: Future[Placed], problem: str) -> None:
        reason = f"kept in frame {observation.new.frame_id!r}, and so no object: {problem}"
        placed.set_result(Placed(observation.new, reason))
