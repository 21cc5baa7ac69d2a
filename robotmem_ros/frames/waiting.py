"""A bounded queue in which items wait for their transform; it has no thread of its own."""

from __future__ import annotations

import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .errors import FrameError, NoStampError
from .transform import Transform
from .transform_buffer import TransformBuffer, stripped

T = TypeVar("T")
Settled = list[tuple[T, Transform | FrameError]]
"""Items with their transforms to the target frame, or with why there is none, in the order of arrival."""


@dataclass(frozen=True)
class _Waiting(Generic[T]):
    item: T
    frame: str
    stamp_ns: int
    deadlines: tuple[float, ...]


class TransformQueue(Generic[T]):
    """A queue for the transforms of items' frames into `target_frame`, at their stamps. Safe to use from threads.

    Callbacks `put` items; a worker calls `collect` when transforms came, and from time to time.

    Args:
        buffer: Where transforms are looked up.
        target_frame: The frame into which all items are transformed.
        timeout: Seconds that an item waits at most, by each of `clocks`: it ends when all of them say so. A clock that
            shows NaN does not count.
        capacity: Number of items that wait at most; the oldest makes room for a new one.
        clocks: Each gives seconds.
    """

    def __init__(
        self,
        buffer: TransformBuffer,
        target_frame: str,
        *,
        timeout: float,
        capacity: int,
        clocks: Sequence[Callable[[], float]] = (time.monotonic,),
    ) -> None:
        self._buffer = buffer
        self._target_frame = target_frame
        self._timeout = timeout
        self._capacity = capacity
        self._clocks = clocks
        self._waiting: OrderedDict[int, _Waiting[T]] = OrderedDict()
        self._arrivals = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, item: T, frame: str, stamp_ns: int) -> T | None:
        """Add an item; return the one that was dropped for it if the queue was full."""
        deadlines = tuple(now + self._timeout for now in self._now())
        with self._lock:
            if not self._capacity:
                return item
            full = len(self._waiting) >= self._capacity
            gone = self._waiting.popitem(last=False)[1].item if full else None
            self._waiting[self._arrivals] = _Waiting(item, frame, stamp_ns, deadlines)
            self._arrivals += 1
            return gone

    def collect(self) -> Settled[T]:
        """Take out what need not wait any more: its transform is known, did not come in time or cannot come.

        An item does not wait for others that arrived before it in other frames.
        """
        return self._settle(self._now())

    def flush(self) -> Settled[T]:
        """Take out everything: no more transforms will come."""
        return self._settle((float("inf"),) * len(self._clocks))

    def _now(self) -> tuple[float, ...]:
        return tuple(clock() for clock in self._clocks)

    def _settle(self, now: tuple[float, ...]) -> Settled[T]:
        with self._lock:
            # Lookups take time, for which callbacks should not wait.
            snapshot = list(self._waiting.items())
        settled: dict[int, Transform | FrameError] = {}
        lagging: dict[str, int] = {}
        for arrival, waiting in snapshot:
            # Never true of NaN, now or when it began to wait.
            over = not any(map(operator.lt, now, waiting.deadlines))
            # A transform that lags at one stamp lags at later ones: not looked up again before the deadline.
            if not over and waiting.stamp_ns >= lagging.get(waiting.frame, waiting.stamp_ns + 1):
                continue
            result = self._lookup(waiting.frame, waiting.stamp_ns)
            if over or isinstance(result, Transform) or not result.waiting_helps:
                settled[arrival] = result
            else:
                lagging[waiting.frame] = waiting.stamp_ns
        with self._lock:
            # `put` may have dropped and returned some of them since the snapshot.
            taken = [(self._waiting.pop(arrival, None), result) for arrival, result in settled.items()]
        return [(waiting.item, result) for waiting, result in taken if waiting]

    def _lookup(self, frame: str, stamp_ns: int) -> Transform | FrameError:
        if stamp_ns == 0 and stripped(frame) != stripped(self._target_frame):
            # For the buffer, 0 means the latest transform, which is not the one of this item.
            return NoStampError(frame)
        try:
            return self._buffer.lookup(self._target_frame, frame, stamp_ns)
        except FrameError as error:
            return error
