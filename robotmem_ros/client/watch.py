"""Give the matches of a watch to a function, each once and in order, over restarts of the memory node."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robotmem_ros import msg, srv

from ..memory import Match, RobotMemoryError
from ..memory.verbs.requests import WatchRequest
from ..messages.requests import fill_request
from ..messages.responses import error_of, read
from ..node.subscriptions import latched
from .connection import Answer, Connection

T = TypeVar("T")
DEPTH = 1000
"""Matches that wait for the function at most."""
_PERIOD = 1.0
_DISCOVERY = 5.0
"""Seconds after which a topic without a publisher is gone, and not only not found yet."""


def begin_watch(
    node: Node, connection: Connection, request: WatchRequest, on_match: Callable[[Match], object], timeout: float
) -> Answer[Watch]:
    """Begin a watch of a memory node, within `timeout` seconds.

    The answer raises InvalidFieldError if a condition cannot be used, and NoAnswerError if the service is not there, or
    does not respond.
    """
    asking = partial(_ask, connection, timeout)
    return asking(request, lambda opened: Watch(node, request, on_match, asking, opened))


class Watch:
    """A watch of a memory node, until `close`; a context manager that closes itself.

    The function is called by the executor of `node`. When the node of the memory was started again, the watch is opened
    again after the last match. Keep `cursor` to go on from there when the program itself is started again.

    Args:
        node: The node of the program.
        request: What to watch.
        on_match: The function that gets each match.
        ask: Asks the memory node for a watch, and gives its response to a function.
        opened: The response that opened it.
    """

    def __init__(
        self, node: Node, request: WatchRequest, on_match: Callable[[Match], object],
        ask: Callable[[WatchRequest, Callable[[Any], Any]], Answer[Any]], opened: Any,
    ) -> None:  # fmt: skip
        self._node = node
        self._request = request
        self._on_match = on_match
        self._ask = ask
        self._subscription: Any = None
        self._pending: Answer[Any] | None = None
        self.cursor: int = int(opened.cursor)
        """Number of the last event that the function has handled."""
        self._subscribe(opened.topic)
        # Steady time: under simulated time without a clock, no other timer fires.
        self._timer = node.create_timer(_PERIOD, self._look_after, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def close(self) -> None:
        """End the watch. A second call does nothing."""
        if self._subscription is not None:
            self._node.destroy_timer(self._timer)
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _subscribe(self, topic: str) -> None:
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._topic, self._since = topic, time.monotonic()
        self._subscription = self._node.create_subscription(msg.Match, topic, self._take, latched(DEPTH))

    def _take(self, message: msg.Match) -> None:
        match = read(Match, message)
        if match.event.sequence > self.cursor:
            self._on_match(match)
            self.cursor = match.event.sequence

    def _look_after(self) -> None:
        if self._pending is not None:
            if self._pending.done():
                answer, self._pending = self._pending, None
                try:
                    self._subscribe(answer.result().topic)
                except RobotMemoryError as error:
                    self._node.get_logger().warning(f"watch: {error}", throttle_duration_sec=10.0)
        elif self._node.count_publishers(self._topic):
            self._since = time.monotonic()
        elif time.monotonic() - self._since > _DISCOVERY:
            self._pending = self._ask(replace(self._request, after=self.cursor), lambda opened: opened)


def _ask(connection: Connection, timeout: float, request: WatchRequest, use: Callable[[Any], T]) -> Answer[T]:
    def read_response(response: Any) -> T:
        if not response.success:
            raise error_of(response.error, request)
        return use(response)

    return connection.begin("watch", fill_request(srv.Watch.Request(), request), read_response, timeout)
