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
from .transform_buffer import TransformBuffer, strip_slash

T = TypeVar("T")
Settled = list[tuple[T, Transform | FrameError]]
"""Items in the order of arrival, each with its transform to the target frame or the error."""


@dataclass(frozen=True)
class _Entry(Generic[T]):
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
        self._entries: OrderedDict[int, _Entry[T]] = OrderedDict()
        self._arrivals = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, item: T, frame: str, stamp_ns: int) -> T | None:
        """Add an item; return the one that was dropped for it if the queue was full."""
        deadlines = tuple(now + self._timeout for now in self._now())
        with self._lock:
            if not self._capacity:
                return item
            full = len(self._entries) >= self._capacity
            dropped_item = self._entries.popitem(last=False)[1].item if full else None
            self._entries[self._arrivals] = _Entry(item, frame, stamp_ns, deadlines)
            self._arrivals += 1
            return dropped_item

    def collect(self) -> Settled[T]:
        """Take out items that need not wait any more: their transform is known, did not come in time or cannot come.

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
            snapshot = list(self._entries.items())
        settled: dict[int, Transform | FrameError] = {}
        lagging: dict[str, int] = {}
        for arrival, entry in snapshot:
            # Never true of NaN, now or when it began to wait.
            over = not any(map(operator.lt, now, entry.deadlines))
            # A transform that lags at one stamp lags at later ones: not looked up again before the deadline.
            if not over and entry.stamp_ns >= lagging.get(entry.frame, entry.stamp_ns + 1):
                continue
            result = self._lookup(entry.frame, entry.stamp_ns)
            if over or isinstance(result, Transform) or not result.waiting_helps:
                settled[arrival] = result
            else:
                lagging[entry.frame] = entry.stamp_ns
        with self._lock:
            # `put` may have dropped and returned some of them since the snapshot.
            results = [(self._entries.pop(arrival, None), result) for arrival, result in settled.items()]
        return [(entry.item, result) for entry, result in results if entry]

    def _lookup(self, frame: str, stamp_ns: int) -> Transform | FrameError:
        if stamp_ns == 0 and strip_slash(frame) != strip_slash(self._target_frame):
            # For the buffer, 0 means the latest transform, which is not the one of this item.
            return NoStampError(frame)
        try:
            return self._buffer.lookup(self._target_frame, frame, stamp_ns)
        except FrameError as error:
            return error
