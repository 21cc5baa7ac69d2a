"""The topic ~/perception: every message becomes a memory, or is counted with the reason why not."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message

from robotmem_ros.msg import Perception

from ..memory import RobotMemory, Stored
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.models import NewMemory
from . import subscriptions as qos
from .conversions import Clock, perception_from
from .own_wait_set import NotByExecutor, OwnWaitSet, unused
from .subscriptions import LostMessages

_LOG = logging.getLogger(__name__)
_LOG_PERIOD = 5.0
_LOST = "lost"
_BATCH = 64
"""Messages after which a question may go first again."""
_REST = 0.01
"""Seconds: what comes meanwhile is taken in one go, which spares more than half of the time it costs."""


@dataclass
class Counts:
    """What became of the messages: received = stored + refused + those not yet committed.

    What was published and never came is refused as lost.
    """

    received: int = 0
    stored: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class PerceptionTopic:
    """Subscribes while it lives. A thread checks each message and queues it; the writer commits many at once.

    Questions go first, unless more has come than was taken at once.
    """

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
            unused,
            qos.intake(parameters.perception_reliability, parameters.perception_depth),
            raw=True,
            callback_group=NotByExecutor(),
        )
        self._wait_set = OwnWaitSet(node, subscriptions=[self._subscription])
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="memory-perceptions", daemon=True)
        self._thread.start()

    def counts(self) -> Counts:
        """The counts as they are now."""
        with self._lock:
            return Counts(self._counts.received, self._counts.stored, self._counts.refused.copy())

    def close(self) -> None:
        """Takes what has come, and ends the subscription."""
        self._closing = True
        self._wait_set.wake()
        self._thread.join()
        self._wait_set.close()
        self._node.destroy_subscription(self._subscription)

    def _run(self) -> None:
        behind = False
        while not self._closing and self._node.context.ok():
            if not behind:
                self._wait_set.wait()
                self._memory.yield_to_queries()
            try:
                behind = self._take(_BATCH)
            except Exception as error:  # whatever it is, the next messages are taken
                behind = False
                self._node.get_logger().error(f"a perception could not be taken: {error!r}")
            if not behind:
                time.sleep(_REST)
        self._take(self._subscription.qos_profile.depth)

    def _take(self, most: int) -> bool:
        """Takes so many messages; false when there are no more."""
        handle = self._subscription.handle
        with handle:
            for _ in range(most):
                taken = handle.take_message(Perception, True)
                if taken is None:
                    return False
                self._take_in(*taken)
        return True

    def _take_in(self, raw: bytes, info: Any) -> None:
        lost = self._gaps.before(info)
        with self._lock:
            self._counts.received += 1 + lost
            if lost:
                self._counts.refused[_LOST] += lost
        try:
            message = deserialize_message(raw, Perception)
        except Exception as error:  # bytes that are no such message, or text that is no Unicode
            self._refuse("unreadable", repr(error))
            return
        try:
            if self._memory.waiting >= self._memory.parameters.queue_limit:
                self._refuse("queue full", "the writer does not keep up; raise queue_limit or send less")
                return
            received_at = max(self._clock(), 0)
            new = perception_from(message, self._memory.parameters, self._clock, received_at=received_at)
            self._memory.store(new).add_done_callback(lambda done: self._settle(new, done))
        except InvalidFieldError as error:
            self._refuse(error.field.removeprefix("header.").partition(".")[0].partition("[")[0], str(error))
        except RobotMemoryError as error:
            self._refuse(type(error).__name__, str(error))

    def _settle(self, new: NewMemory, future: Future[Stored]) -> None:
        error = future.exception()
        if error is not None:
            self._refuse(type(error).__name__, str(error))
            return
        with self._lock:
            self._counts.stored += 1
        _LOG.debug("~/perception at %.3f s: stored as %d", new.observed_at / 1e9, future.result().memory_id)

    def _refuse(self, reason: str, message: str) -> None:
        with self._lock:
            self._counts.refused[reason] += 1
        _LOG.debug("~/perception: dropped 1: %s (%s)", reason, message)
        self._node.get_logger().warning(f"refused a perception: {message}", throttle_duration_sec=_LOG_PERIOD)
