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
from ..memory.intake_report import TRANSFORMS
from ..perception import UnknownTypeError, message_class
from .intake_worker import IntakeWorker
from .subscriptions import MatchedSubscription, TopicState

Point = tuple[float, float, float]


class Target(NamedTuple):
    """A point in frame `source`, to be transformed into frame `target`."""

    field: str
    """Field of the request."""
    point: Point
    source: str
    target: str
    stamp_ns: int
    """Time of the transform; 0 means the latest."""
    timeout: float
    """Seconds to wait for the transform; 0 to answer at once."""


class _Request(NamedTuple):
    target: Target
    deadline: float
    result: Future[Point]


class TargetFrames:
    """Transform points; `settle` looks at those that wait. Safe to use from several threads."""

    def __init__(self, buffer: TransformBuffer) -> None:
        self._buffer = buffer
        self._requests: list[_Request] = []
        self._problem = ""
        self._lock = threading.Lock()

    def transform(self, target: Target, hint: str = "") -> Future[Point]:
        """Return a future of the point: done when its transform has come, or failed at the deadline.

        `hint` says how a transform that is missing now may be had.

        Raises:
            FrameMismatchError: no transform can come, or the request does not wait for it.
        """
        request = _Request(target, time.monotonic() + target.timeout, Future())
        result = self._lookup(target)
        if not isinstance(result, FrameError):
            request.result.set_result(result)
            return request.result
        if target.timeout <= 0.0 or not result.waiting_helps:
            raise _mismatch(target, f"{result}{hint if result.waiting_helps else ''}") from result
        with self._lock:
            if self._problem:
                raise _mismatch(target, self._problem)
            self._requests.append(request)
        return request.result

    def settle(self) -> bool:
        """Give the results of points that need not wait any more; return whether others go on waiting.

        To be called when transforms came, and now and then.
        """
        now = time.monotonic()
        for request in self._snapshot():
            result = self._lookup(request.target)
            if isinstance(result, FrameError):
                if (not result.waiting_helps or now >= request.deadline) and self._remove(request):
                    request.result.set_exception(_mismatch(request.target, str(result)))
            elif self._remove(request):
                request.result.set_result(result)
        return bool(self._requests)

    def close(self, problem: str) -> None:
        """Fail all points that wait, now and from now on."""
        with self._lock:
            self._problem = problem
        for request in self._snapshot():
            if self._remove(request):
                request.result.set_exception(_mismatch(request.target, problem))

    def _lookup(self, target: Target) -> Point | FrameError:
        try:
            return self._buffer.lookup(target.target, target.source, target.stamp_ns).apply(target.point)
        except FrameError as error:
            return error

    def _snapshot(self) -> list[_Request]:
        with self._lock:
            return list(self._requests)

    def _remove(self, request: _Request) -> bool:
        """Remove a point from those that wait; return false if another thread did."""
        with self._lock:
            if request not in self._requests:
                return False
            self._requests.remove(request)
            return True


def _mismatch(target: Target, problem: str) -> FrameMismatchError:
    return FrameMismatchError(target.field, target.source, target.target, problem)


def _received(state: TopicState) -> int:
    return state.received


_TYPE = "tf2_msgs/msg/TFMessage"
_NS = 1_000_000_000
_DEPTH = 1000
_LOG_PERIOD = 5.0

Take = Callable[..., tuple[Exception, ...]]


class TfTopics:
    """Listen from `start` on, since listening costs CPU; if tf2_msgs is missing, `problem` says so.

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
        self.problem = ""
        """Reason why there are no transforms; empty if there are."""
        try:
            self._kind: Any = message_class(_TYPE)
        except UnknownTypeError:
            self._kind = None
            self.problem = "tf2_msgs is not installed: nothing is transformed between frames"

    @property
    def listens(self) -> bool:
        """Return whether transforms come in."""
        return bool(self._subscriptions)

    def start(self) -> None:
        """Begin to listen; a second call does nothing."""
        if self._jumps is None:
            # Backwards only: a step of a nanosecond is enough.
            threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
            self._jumps = self._node.get_clock().create_jump_callback(threshold, post_callback=self._on_jump)
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

    def states(self) -> list[TopicState]:
        """Return the states of the topics of transforms; of one that has two subscriptions, that of the busier one."""
        states = sorted((subscription.state(TRANSFORMS) for subscription in self._subscriptions), key=_received)
        return [*{state.topic: state for state in states}.values()]

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

    def _on_jump(self, jump: TimeJump) -> None:
        self._worker.put_first(lambda: self._clear(-jump.delta.nanoseconds / _NS))

    def _clear(self, seconds: float) -> None:
        if self._times.fresh:
            # What there is came with the jump, and would be lost.
            return
        self._say(f"the clock jumped back by {seconds:.1f} s")
        self._times.clear()
        self._forget()

    def _say(self, detail: str) -> None:
        self._node.get_logger().warning(f"time went back ({detail}): transforms and samples start again")
