"""The topics /tf and /tf_static, into the one buffer of transforms; and what happens when time jumps back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from ..frames import TimeJumps
from ..perception import UnknownTypeError, message_class
from .intake_worker import IntakeWorker
from .matched_subscription import MatchedSubscription

_TYPE = "tf2_msgs/msg/TFMessage"
_NS = 1_000_000_000
_DEPTH = 1000
_LOG_PERIOD = 5.0

Take = Callable[..., tuple[Exception, ...]]


class TfTopics:
    """Listens from `start` on, for listening costs all the time; where tf2_msgs is missing, `missing` says so.

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
        """Whether transforms come in."""
        return bool(self._subscriptions)

    def start(self) -> None:
        """Begins to listen; a second call does nothing."""
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
        """Matches the subscriptions to the publishers that there are."""
        for subscription in self._subscriptions:
            subscription.poll()

    def close(self) -> None:
        """Ends listening."""
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
            self._node.get_logger().warning(f"left out a {error}", throttle_duration_sec=_LOG_PERIOD)

    def _notice(self, message: Any) -> None:
        """Sees by the stamps that a recording began anew, also where nobody publishes a clock."""
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
        self._node.get_logger().warning(f"time went back ({what}): transforms and samples start anew")
