"""Brings the targets of spatial sorts into the memory frame; a target that waits for its transform holds no thread."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import NamedTuple

from ..frames import FrameError, TransformBuffer
from ..memory.errors import FrameMismatchError

Point = tuple[float, float, float]


class Target(NamedTuple):
    """A point in frame `source` that is wanted in frame `target`."""

    point: Point
    source: str
    target: str
    stamp_ns: int
    """When to look up the transform; 0 means the latest."""
    timeout: float
    """Seconds to wait for the transform; 0 to answer at once."""


class _Waiting(NamedTuple):
    target: Target
    deadline: float
    result: Future[Point]


class TargetFrames:
    """Transforms points; those that wait are looked at by `settle`. Safe to use from several threads."""

    def __init__(self, buffer: TransformBuffer) -> None:
        self._buffer = buffer
        self._waiting: list[_Waiting] = []
        self._closed = ""
        self._lock = threading.Lock()

    def transformed(self, target: Target, hint: str = "") -> Future[Point]:
        """Give the point when its transform is there, or the error when the time is over.

        `hint` says how a transform that is missing now may be had.

        Raises:
            FrameMismatchError: no transform can come, or the request does not wait for it.
        """
        waiting = _Waiting(target, time.monotonic() + target.timeout, Future())
        found = self._lookup(target)
        if not isinstance(found, FrameError):
            waiting.result.set_result(found)
            return waiting.result
        if target.timeout <= 0.0 or not found.waiting_helps:
            raise _mismatch(target, f"{found}{hint if found.waiting_helps else ''}") from found
        with self._lock:
            if self._closed:
                raise _mismatch(target, self._closed)
            self._waiting.append(waiting)
        return waiting.result

    def settle(self) -> bool:
        """Give the results of those that need not wait any more; whether others go on waiting.

        To be called when transforms came, and now and then.
        """
        now = time.monotonic()
        for waiting in self._snapshot():
            found = self._lookup(waiting.target)
            if isinstance(found, FrameError):
                if (not found.waiting_helps or now >= waiting.deadline) and self._taken(waiting):
                    waiting.result.set_exception(_mismatch(waiting.target, str(found)))
            elif self._taken(waiting):
                waiting.result.set_result(found)
        return bool(self._waiting)

    def close(self, why: str) -> None:
        """Let nothing wait any more, now and from now on."""
        with self._lock:
            self._closed = why
        for waiting in self._snapshot():
            if self._taken(waiting):
                waiting.result.set_exception(_mismatch(waiting.target, why))

    def _lookup(self, target: Target) -> Point | FrameError:
        try:
            return self._buffer.lookup(target.target, target.source, target.stamp_ns).apply(target.point)
        except FrameError as error:
            return error

    def _snapshot(self) -> list[_Waiting]:
        with self._lock:
            return list(self._waiting)

    def _taken(self, waiting: _Waiting) -> bool:
        """Take it out, unless another thread did."""
        with self._lock:
            if waiting not in self._waiting:
                return False
            self._waiting.remove(waiting)
            return True


def _mismatch(target: Target, why: str) -> FrameMismatchError:
    return FrameMismatchError(target.source, target.target, why)
