"""The topic ~/perception: every message becomes a memory, or is counted with the reason why not."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from rclpy.node import Node

from robotmem_ros.msg import Perception

from ..memory import RobotMemory, Stored
from ..memory.errors import InvalidFieldError, RobotMemoryError
from . import qos
from .conversions import Clock, perception_from
from .draining import drain
from .lost_messages import LostMessages

_LOG_PERIOD = 5.0
_LOST = "lost"


@dataclass
class Counts:
    """What became of the messages: received = stored + refused + those not yet committed.

    What was published and never came is refused as lost.
    """

    received: int = 0
    stored: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class PerceptionTopic:
    """Subscribes while it lives. The callback checks a message and queues it; the writer commits many at once."""

    def __init__(self, node: Node, memory: RobotMemory, clock: Clock) -> None:
        self._node = node
        self._memory = memory
        self._clock = clock
        self._lock = threading.Lock()
        self._counts = Counts()
        self._gaps = LostMessages(alone=lambda: node.count_publishers("~/perception") <= 1)
        parameters = memory.parameters
        self._subscription = node.create_subscription(
            Perception,
            "~/perception",
            self._receive,
            qos.intake(parameters.perception_reliability, parameters.perception_depth),
        )

    def counts(self) -> Counts:
        """The counts as they are now."""
        with self._lock:
            return Counts(self._counts.received, self._counts.stored, self._counts.refused.copy())

    def close(self) -> None:
        """Ends the subscription."""
        self._node.destroy_subscription(self._subscription)

    def _receive(self, message: Perception, info: Any) -> None:
        self._take_in(message, info)
        drain(self._subscription, self._take_in)

    def _take_in(self, message: Perception, info: Any) -> None:
        lost = self._gaps.before(info)
        with self._lock:
            self._counts.received += 1 + lost
            if lost:
                self._counts.refused[_LOST] += lost
        try:
            if self._memory.waiting >= self._memory.parameters.queue_limit:
                self._refuse("queue full", "the writer does not keep up; raise queue_limit or send less")
                return
            received_at = max(self._clock(), 0)
            new = perception_from(message, self._memory.parameters, self._clock, received_at=received_at)
            self._memory.store(new).add_done_callback(self._settle)
        except InvalidFieldError as error:
            self._refuse(error.field.partition(".")[0].partition("[")[0], str(error))
        except RobotMemoryError as error:
            self._refuse(type(error).__name__, str(error))

    def _settle(self, future: Future[Stored]) -> None:
        error = future.exception()
        if error is not None:
            self._refuse(type(error).__name__, str(error))
            return
        with self._lock:
            self._counts.stored += 1

    def _refuse(self, reason: str, message: str) -> None:
        with self._lock:
            self._counts.refused[reason] += 1
        self._node.get_logger().warning(f"refused a perception: {message}", throttle_duration_sec=_LOG_PERIOD)
