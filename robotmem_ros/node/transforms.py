"""Receive transforms, and look them up for queries without holding a thread for those that wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from ..frames import (
    TF_TYPE,
    FrameError,
    FrameOwners,
    TimeJumps,
    Transform,
    TransformBuffer,
    is_static,
    transform_topics,
    unread_hint,
)
from ..memory.errors import FrameMismatchError, InvalidFieldError
from ..memory.intake_report import TRANSFORMS
from ..perception import UnknownTypeError, message_class
from .intake_worker import IntakeWorker
from .subscriptions import MatchedSubscription, TopicState


class Target(NamedTuple):
    """What a query has or wants transformed from frame `source` into frame `target`."""

    field: str
    """Field of the request."""
    source: str
    target: str
    stamp_ns: int
    """Time of the transform; 0 means the latest."""
    timeout: float
    """Seconds to wait for the transform; 0 to answer at once."""
    is_result: bool = False
    """Whether poses of the result are to be transformed, and not a place of the query."""
    hint: str = ""
    """What else may be wrong if there is no transform."""

    def mismatch(self, problem: str) -> InvalidFieldError | FrameMismatchError:
        """Return the error that there is no transform."""
        if not self.is_result:
            reason = "; ".join(filter(None, (problem, self.hint)))
            return FrameMismatchError(self.field, self.source, self.target, reason)
        told = f"cannot be the frame of poses in {self.source!r}: {problem}; leave it empty for {self.source!r}"
        return InvalidFieldError(self.field, self.target, told)


class TimedTransform(NamedTuple):
    """A transform between two frames, and when it held."""

    transform: Transform
    stamp_ns: int
    """0 if it always holds."""


class _Request(NamedTuple):
    target: Target
    deadline: float
    result: Future[TimedTransform]


class TargetFrames:
    """Look up transforms; `settle` looks at those that wait. Safe to use from several threads."""

    def __init__(self, buffer: TransformBuffer) -> None:
        self._buffer = buffer
        self._requests: list[_Request] = []
        self._problem = ""
        # A future that is done may go on to look up another target.
        self._lock = threading.RLock()

    def transform(self, target: Target, hint: str = "") -> Future[TimedTransform]:
        """Return a future of the transform: done when it has come, or failed at the deadline.

        `hint` says how a transform that is missing now may be had.

        Raises:
            InvalidFieldError, FrameMismatchError: none can come, or the request does not wait for it; see `mismatch`.
        """
        request = _Request(target, time.monotonic() + target.timeout, Future())
        result = self._lookup(target)
        if not isinstance(result, FrameError):
            request.result.set_result(result)
            return request.result
        if target.timeout <= 0.0 or not result.waiting_helps:
            raise target.mismatch(f"{result}{hint if result.waiting_helps else ''}") from result
        with self._lock:
            if self._problem:
                raise target.mismatch(self._problem)
            self._requests.append(request)
        return request.result

    def settle(self) -> bool:
        """Give the transforms to those that need not wait any more; return whether others go on waiting.

        To be called when transforms came, and now and then.
        """
        with self._lock:
            for request in [*self._requests]:
                result = self._lookup(request.target)
                if not isinstance(result, FrameError):
                    self._requests.remove(request)
                    request.result.set_result(result)
                elif not result.waiting_helps or time.monotonic() >= request.deadline:
                    self._fail(request, str(result))
            return bool(self._requests)

    def close(self, problem: str) -> None:
        """Fail all that wait, now and from now on."""
        with self._lock:
            self._problem = problem
            for request in [*self._requests]:
                self._fail(request, problem)

    def _fail(self, request: _Request, problem: str) -> None:
        self._requests.remove(request)
        request.result.set_exception(request.target.mismatch(problem))

    def _lookup(self, target: Target) -> TimedTransform | FrameError:
        try:
            stamp_ns = target.stamp_ns or self._buffer.latest_ns(target.target, target.source)
            return TimedTransform(self._buffer.lookup(target.target, target.source, stamp_ns), stamp_ns)
        except FrameError as error:
            return error


_NS = 1_000_000_000
_TOPICS = ("/tf", "/tf_static")
_DEPTH = 1000
_LOG_PERIOD = 5.0
_DISCOVERY_PERIOD = 2.0
_MATCHED = [("match", "volatile")]

Take = Callable[..., tuple[Exception, ...]]


class TfTopics:
    """Listen from `start` on, since listening costs CPU; if tf2_msgs is missing, `problem` says so.

    Listens to the `named` topics. If there are none, to /tf and /tf_static, and, unless /tf is remapped, to all other
    topics of transforms on the graph but those of other robots than that of the node and of the topics `users`. Where
    no namespace above those has transforms, and several others have, none of them is chosen.

    `take(message, static=...)` gets the messages in the thread of the worker, `forget` is called when time jumps back.
    """

    def __init__(
        self, node: Node, worker: IntakeWorker, take: Take, forget: Callable[[], None], *,
        named: Sequence[str] = (), users: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._node = node
        self._worker = worker
        self._take = take
        self._forget = forget
        self._times = TimeJumps()
        self._first = tuple(node.resolve_topic_name(topic) for topic in named or _TOPICS)
        self._discovers = not named and self._first == _TOPICS
        here = f"{node.get_namespace().rstrip('/')}/{node.get_name()}"
        self._users = [here, *map(node.resolve_topic_name, users)]
        self._owners = FrameOwners()
        self._discovered_at = 0.0
        self._subscriptions: dict[str, list[MatchedSubscription]] = {}
        self._jumps: Any = None
        self._unread: frozenset[str] = frozenset()
        """Topics on the graph that have transforms and are not listened to."""
        self.problem = ""
        """Reason why there are no transforms; empty if there are."""
        try:
            self._kind: Any = message_class(TF_TYPE)
        except UnknownTypeError:
            self._kind = None
            self.problem = "tf2_msgs is not installed: nothing is transformed between frames"

    @property
    def listens(self) -> bool:
        """Return whether transforms come in."""
        return bool(self._subscriptions)

    def hint(self) -> str:
        """Say which topics have transforms and are not listened to; empty if there are none."""
        remapped = {topic for topic in self._unread if self._node.resolve_topic_name(topic) != topic}
        hints = [f"{topic} has transforms and is remapped: launch with remap_tf:=false" for topic in sorted(remapped)]
        return "; ".join([*hints, *filter(None, [unread_hint(self._unread - remapped)])])

    def start(self) -> None:
        """Begin to listen; a second call does nothing."""
        if self._jumps is None:
            # Backwards only: a step of a nanosecond is enough.
            threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
            self._jumps = self._node.get_clock().create_jump_callback(threshold, post_callback=self._on_jump)
        if self._kind is not None and not self._subscriptions:
            self._listen(self._first)
            self._discover()

    def poll(self) -> None:
        """Match the subscriptions to the publishers, and look for other topics from time to time."""
        if self._subscriptions and time.monotonic() - self._discovered_at >= _DISCOVERY_PERIOD:
            self._discover()
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.poll()

    def states(self) -> list[TopicState]:
        """Return the states of the topics of transforms; of one that has two subscriptions, that of the busier one."""
        subscriptions = (one for same in self._subscriptions.values() for one in same)
        states = sorted((subscription.state(TRANSFORMS) for subscription in subscriptions), key=attrgetter("received"))
        return [*{state.topic: state for state in states}.values()]

    def close(self) -> None:
        """Stop listening."""
        self._listen(())
        if self._jumps is not None:
            self._jumps.unregister()
            self._jumps = None

    def _discover(self) -> None:
        self._discovered_at = time.monotonic()
        names = (name for name, types in self._node.get_topic_names_and_types() if TF_TYPE in types)
        published = {name for name in names if self._node.count_publishers(name)}
        if self._discovers:
            found = [transform_topics(published, user) for user in self._users]
            choices = [one for one in found if one.namespace] or [one for one in found if one.are_of_one_robot]
            self._listen({*self._first, *(topic for choice in choices for topic in choice.topics)})
            robot = max((choice.namespace for choice in choices), key=len, default=())
            if robot != self._owners.robot:
                # What came before may be of another robot, which was alone on the graph.
                self._owners = FrameOwners(robot)
                self._worker.put_first(self._forget)
        self._unread = frozenset(published - self._subscriptions.keys())

    def _listen(self, topics: Iterable[str]) -> None:
        """Listen to these topics, and no longer to others."""
        wanted = set(topics)
        if wanted and wanted != self._subscriptions.keys():
            self._node.get_logger().info(f"listens to the transforms of {', '.join(sorted(wanted))}")
        for topic in self._subscriptions.keys() - wanted:
            for subscription in self._subscriptions.pop(topic):
                subscription.close()
        for topic in sorted(wanted - self._subscriptions.keys()):
            # A player that was not told how it was offered does not latch; and heard twice, it is the same.
            qualities = [("reliable", "transient_local"), ("reliable", "volatile")] if is_static(topic) else _MATCHED
            self._subscriptions[topic] = [
                MatchedSubscription(
                    self._node, self._kind, TF_TYPE, topic, partial(self._receive, topic),
                    reliability=reliability, durability=durability, depth=_DEPTH,
                )
                for reliability, durability in qualities
            ]  # fmt: skip

    def _receive(self, topic: str, raw: bytes) -> None:
        self._worker.put_first(lambda: self._read(topic, raw))

    def _read(self, topic: str, raw: bytes) -> None:
        static = is_static(topic)
        had_problem = bool(self._owners.problem)
        message = self._owners.own(topic, deserialize_message(raw, self._kind))
        if self._owners.problem and not had_problem:
            self._node.get_logger().warning(self._owners.problem)
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
