"""Keep the latest map of a topic: mapping publishes a large one every few seconds, and few of them are stored."""

from __future__ import annotations

import time
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message

from ..memory import RobotMemory
from ..memory.errors import RobotMemoryError
from ..memory.intake_report import MAP
from ..memory.threads import Threads
from ..messages.requests import Clock
from ..perception import UnknownTypeError, message_class
from ..perception.occupancy import MAP_TYPE, check_message_size, occupancy_grid
from .subscriptions import MatchedSubscription, TopicState

_PERIOD = 5.0
"""Seconds between two stored maps; of the maps between, only the last one is stored."""


class MapTopic:
    """Listen from creation to `close`; a thread reads and stores the last map that came, when `poll` finds it due.

    If nav_msgs is missing, `problem` says so.
    """

    def __init__(self, node: Node, memory: RobotMemory, clock: Clock, topic: str) -> None:
        self._node = node
        self._memory = memory
        self._clock = clock
        self._topic = topic
        self._latest: bytes | None = None
        self._last_digest = b""
        self._next = 0.0
        self._subscription: MatchedSubscription | None = None
        self._threads = Threads(1, "memory-map")
        self.problem = ""
        """Reason why the last map is not stored; empty if it is."""
        try:
            self._kind: Any = message_class(MAP_TYPE)
        except UnknownTypeError:
            self.problem = f"nav_msgs is not installed: no map is kept of {topic}"
            node.get_logger().warning(self.problem)
            return
        self._subscription = MatchedSubscription(node, self._kind, MAP_TYPE, topic, self._receive, depth=1)

    def poll(self) -> None:
        """Match the subscription to the publishers, and let what came be stored."""
        if self._subscription is not None:
            self._subscription.poll()
        if self._latest is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PERIOD
            self._threads.submit(self._take)

    def states(self) -> list[TopicState]:
        """Return the state of the topic; none without nav_msgs."""
        return [self._subscription.state(MAP, problem=self.problem)] if self._subscription else []

    def close(self) -> None:
        """Stop listening, and store the last map that came."""
        if self._subscription is not None:
            self._subscription.close()
        self._threads.submit(self._take)
        self._threads.shutdown()

    def _receive(self, raw: bytes) -> None:
        self._latest = raw

    def _take(self) -> None:
        raw, self._latest = self._latest, None
        if raw is None:
            return
        try:
            self._store(raw)
        except RobotMemoryError as error:
            self._fail(str(error))
        except Exception as error:  # bytes that are no such message
            self._fail(repr(error))
        else:
            self.problem = ""

    def _store(self, raw: bytes) -> None:
        check_message_size(raw)
        message = deserialize_message(raw, self._kind)
        grid = occupancy_grid(message, self._memory.parameters, received_at=self._clock())
        digest = grid.digest()
        if digest == self._last_digest:
            return  # nothing is written, not even when it came
        self._memory.maps.save(grid)
        self._last_digest = digest

    def _fail(self, detail: str) -> None:
        problem = f"the map of {self._topic} is not stored: {detail}"
        if problem != self.problem:
            self._node.get_logger().warning(problem)
        self.problem = problem
