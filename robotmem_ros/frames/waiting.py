"""A bounded queue in which things wait until their transform is there; no thread of its own."""

from __future__ import annotations

import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from .errors import FrameError, NoStampError
from .transform import IDENTITY, Transform
from .transform_buffer import TransformBuffer

T = TypeVar("T")


class Drop(str, Enum):
    """What leaves a full queue."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True)
class Ready(Generic[T]):
    """An item, and the transform from its frame to the target frame at its stamp."""

    item: T
    transform: Transform


@dataclass(frozen=True)
class GivenUp(Generic[T]):
    """An item whose transform did not come in time, or cannot come any more, and why."""

    item: T
    error: FrameError


@dataclass(frozen=True)
class _Waiting(Generic[T]):
    item: T
    frame: str
    stamp_ns: int
    deadlines: tuple[float, ...]


class TransformQueue(Generic[T]):
    """Things wait here for the transform of their frame into `target_frame`, at their stamp.

    `patience` is how many seconds an item waits at most, by each of `clocks`: over when it is over by all of them. A
    clock that shows NaN does not count. `capacity` is how many items wait at most. Callbacks `put`; whoever works calls
    `collect` when transforms came, and now and then. Safe to use from several threads.
    """

    def __init__(
        self,
        buffer: TransformBuffer,
        target_frame: str,
        *,
        patience: float,
        capacity: int,
        drop: Drop = Drop.OLDEST,
        clocks: Sequence[Callable[[], float]] = (time.monotonic,),
    ) -> None:
        self._buffer = buffer
        self._target_frame = target_frame
        self._patience = patience
        self._capacity = capacity
        self._drop = drop
        self._clocks = clocks
        self._waiting: OrderedDict[int, _Waiting[T]] = OrderedDict()
        self._arrivals = 0
        self._dropped = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def dropped(self) -> int:
        """How many items left because the queue was full."""
        return self._dropped

    def put(self, item: T, frame: str, stamp_ns: int) -> T | None:
        """Lets an item wait; gives the item that was dropped for it, or itself, when the queue was full."""
        deadlines = tuple(now + self._patience for now in self._now())
        with self._lock:
            full = len(self._waiting) >= self._capacity
            self._dropped += full
            if full and (self._drop is Drop.NEWEST or not self._waiting):
                return item
            gone = self._waiting.popitem(last=False)[1].item if full else None
            self._waiting[self._arrivals] = _Waiting(item, frame, stamp_ns, deadlines)
            self._arrivals += 1
            return gone

    def collect(self) -> list[Ready[T] | GivenUp[T]]:
        """Takes out what need not wait any more, in the order of arrival.

        An item does not wait for others that came before it in other frames.
        """
        return self._settle(self._now())

    def flush(self) -> list[Ready[T] | GivenUp[T]]:
        """Takes out everything, in the order of arrival: no more transforms will come."""
        return self._settle((float("inf"),) * len(self._clocks))

    def _now(self) -> tuple[float, ...]:
        return tuple(clock() for clock in self._clocks)

    def _settle(self, now: tuple[float, ...]) -> list[Ready[T] | GivenUp[T]]:
        with self._lock:
            # Looking up takes its time, and callbacks are not to wait for it.
            snapshot = list(self._waiting.items())
        settled: list[tuple[int, Ready[T] | GivenUp[T]]] = []
        lagging: dict[str, int] = {}
        for arrival, waiting in snapshot:
            # Never true of NaN, now or when it began to wait.
            over = not any(map(operator.lt, now, waiting.deadlines))
            # A transform that lags at one stamp lags at later ones: not looked up again, but for the last time.
            if not over and waiting.stamp_ns >= lagging.get(waiting.frame, waiting.stamp_ns + 1):
                continue
            result = self._result(waiting)
            if isinstance(result, Ready) or over or not result.error.waiting_helps:
                settled.append((arrival, result))
            else:
                lagging[waiting.frame] = waiting.stamp_ns
        with self._lock:
            # What was dropped meanwhile was given back by `put` already.
            return [result for arrival, result in settled if self._waiting.pop(arrival, None)]

    def _result(self, waiting: _Waiting[T]) -> Ready[T] | GivenUp[T]:
        try:
            return Ready(waiting.item, self._transform(waiting.frame, waiting.stamp_ns))
        except FrameError as error:
            return GivenUp(waiting.item, error)

    def _transform(self, frame: str, stamp_ns: int) -> Transform:
        if frame.removeprefix("/") == self._target_frame.removeprefix("/"):
            return IDENTITY
        if stamp_ns == 0:
            # For the buffer it means the latest transform, which is not the one of this item.
            raise NoStampError(frame)
        return self._buffer.lookup(self._target_frame, frame, stamp_ns)
