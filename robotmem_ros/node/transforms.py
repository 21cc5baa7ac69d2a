"""Receive /tf and /tf_static, and transform the targets of queries without holding a thread for those that wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from ..frames import FrameError, TimeJumps, TransformBuffer
from ..memory.errors import FrameMismatchError
from ..perception import UnknownTypeError, message_class
from .intake_worker import IntakeWorker
from .subscriptions import MatchedSubscription

Point = tuple[float, float, float]


class Target(NamedTuple):
    """A point in frame `source` that is wanted in frame `target`."""

    field: str
    """Of the request."""
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
    """Transform points; `settle` looks at those that wait. Safe to use from several threads."""

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
        """Give the results of points that need not wait any more; return whether others go on waiting.

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
        """Fail all points that wait, now and from now on."""
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
        """Remove a point from those that wait; return false if another thread did."""
        with self._lock:
            if waiting not in self._waiting:
                return False
            self._waiting.remove(waiting)
            return True


def _mismatch(target: Target, why: str) -> FrameMismatchError:
    return FrameMismatchError(target.field, target.source, target.target, why)


_TYPE = "tf2_msgs/msg/TFMessage"
_NS = 1_000_000_000
_DEPTH = 1000
_LOG_PERIOD = 5.0

Take = Callable[..., tuple[Exception, ...]]


class TfTopics:
    """Listen from `start` on, since listening costs CPU; if tf2_msgs is missing, `missing` says so.

    `take(message, static=...)` gets the messages in the thread of the worker, `forget` is called when time jumps back.
    """

    def __init__(self, node: Node, worker: IntakeWorker, take: Take, forget: Callable[[], None]) -> None:
        self._node = node
        self._worker = worker
        self._take = take
        self._forget = forget
        self._times = TimeJumps()
        self._subscriptions: list[MatchedSubscription] = []
        self._jumps: Any = None
        self.missing = ""
        """Why there are no transforms, in words."""
        try:
            self._kind: Any = message_class(_TYPE)
        except UnknownTypeError:
            self._kind = None
            self.missing = "tf2_msgs is not installed: nothing is transformed between frames"

    @property
    def listens(self) -> bool:
        """Return whether transforms come in."""
        return bool(self._subscriptions)

    def start(self) -> None:
        """Begin to listen; a second call does nothing."""
        if self._jumps is None:
            # Backwards only: a step of a nanosecond is enough.
            threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
            self._jumps = self._node.get_clock().create_jump_callback(threshold, post_callback=self._jumped)
        if self._kind is None or self._subscriptions:
            return
        for topic, receive, reliability, durability in (
            ("/tf", self._moving, "match", "volatile"),
            ("/tf_static", self._static, "reliable", "transient_local"),
            # A player that was not told how it was offered does not latch it; and heard twice, it is the same.
            ("/tf_static", self._static, "reliable", "volatile"),
        ):
            self._subscriptions.append(
                MatchedSubscription(
                    self._node, self._kind, _TYPE, topic, receive,
                    reliability=reliability, durability=durability, depth=_DEPTH,
                )
            )  # fmt: skip

    def poll(self) -> None:
        """Match the subscriptions to the publishers."""
        for subscription in self._subscriptions:
            subscription.poll()

    def close(self) -> None:
        """Stop listening."""
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions.clear()
        if self._jumps is not None:
            self._jumps.unregister()
            self._jumps = None

    def _moving(self, raw: bytes) -> None:
        self._worker.put_first(lambda: self._read(raw, static=False))

    def _static(self, raw: bytes) -> None:
        self._worker.put_first(lambda: self._read(raw, static=True))

    def _read(self, raw: bytes, *, static: bool) -> None:
        message = deserialize_message(raw, self._kind)
        if not static:
            self._notice(message)
        for error in self._take(message, static=static):
            self._node.get_logger().warning(f"dropped a {error}", throttle_duration_sec=_LOG_PERIOD)

    def _notice(self, message: Any) -> None:
        """Notice by the stamps that a recording began again, also if nobody publishes a clock."""
        jump = self._times.notice(message)
        if jump is not None:
            self._say(f"the transforms of {jump.frame!r} went back by {jump.seconds:.1f} s")
            self._forget()

    def _jumped(self, jump: TimeJump) -> None:
        self._worker.put_first(lambda: self._clear(-jump.delta.nanoseconds / _NS))

    def _clear(self, seconds: float) -> None:
        if self._times.fresh:
            # What there is came with the jump, and would be lost.
            return
        self._say(f"the clock jumped back by {seconds:.1f} s")
        self._times.clear()
        self._forget()

    def _say(self, what: str) -> None:
        self._node.get_logger().warning(f"time went back ({what}): transforms and samples start again")
