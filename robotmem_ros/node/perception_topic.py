"""The topic ~/perception: every message becomes a memory, or is counted with the reason why not."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message

from robotmem_ros.msg import Perception

from ..memory import RobotMemory, Stored
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.intake_report import PERCEPTIONS
from ..memory.models import NewMemory
from ..messages.requests import Clock
from ..perception import DropReason, Placed, PlacePerception, TopicCounter
from .conversions import perception_from
from .executors import CallbackThread
from .subscriptions import LostMessages, Receiver, TopicState

NAME = "~/perception"
_LOG = logging.getLogger(__name__)
_BATCH = 64
"""Messages per turn; queries go first between two turns."""
_REST = 0.01
"""Seconds between two turns: taking all messages of this time at once halves the CPU time."""


class PerceptionTopic:
    """Subscribe until `close`. A thread checks each message and queues it; the writer commits many at once.

    Queries go first, unless more has come than was taken at once. `place` moves a perception into the memory frame.
    """

    def __init__(self, node: Node, memory: RobotMemory, place: PlacePerception, clock: Clock) -> None:
        self._node = node
        self._memory = memory
        self._place = place
        self._clock = clock
        self.counter = TopicCounter(NAME)
        """Counts of messages; one that was published and never came counts as lost."""
        self._gaps = LostMessages(alone=lambda: node.count_publishers(NAME) <= 1)
        self._last_received_at: int | None = None
        parameters = memory.parameters
        self._depth, self._reliability = parameters.perception_depth, parameters.perception_reliability
        self._thread = CallbackThread(node, "memory-perceptions", self._take_many)
        qos = QoSProfile(depth=self._depth, reliability=QoSReliabilityPolicy[self._reliability.upper()])
        self._subscription = node.create_subscription(
            Perception, NAME, Receiver(self._take_in), qos, raw=True, callback_group=self._thread.group
        )
        self._thread.add(self._subscription)
        self._thread.start()

    def state(self) -> TopicState:
        """Return the state of the topic."""
        counts = self.counter.counts()
        return TopicState(
            name=NAME,
            topic=NAME,
            type="robotmem_ros/msg/Perception",
            role=PERCEPTIONS,
            publishers=self._node.count_publishers(NAME),
            quality=f"{self._reliability}, volatile",
            received=counts.messages,
            last_received_at=self._last_received_at,
            counts=counts,
        )

    def close(self, patience: float | None = None) -> None:
        """Take what has come, for `patience` seconds at most, and end the subscription."""
        if not self._thread.close(self._depth, patience):
            _LOG.error("~/perception: what still waited to be read after %g s was thrown away", patience)
        self._node.destroy_subscription(self._subscription)

    def _take_many(self) -> None:
        self._memory.parts.database.query_priority.yield_to_queries()
        while not self._thread.closing.is_set() and self._thread.drain(_BATCH):
            pass
        time.sleep(_REST)

    def _take_in(self, raw: bytes, info: Any) -> None:
        self._thread.count()
        if gap := self._gaps.before(info):
            self.counter.drop_unread(DropReason.LOST, gap, "published, and never came; raise perception_depth")
        self.counter.receive(1, {})
        self._last_received_at = time.time_ns()
        try:
            message = deserialize_message(raw, Perception)
        except Exception as error:  # bytes that are no such message, or text that is no Unicode
            self._drop(DropReason.UNDECODABLE, repr(error))
            return
        try:
            received_at = max(self._clock(), 0)
            parameters = self._memory.parameters
            new = perception_from(message, parameters, self._clock, source="topic", received_at=received_at)
            self._place(new).add_done_callback(self._store)
        except RobotMemoryError as error:
            self._drop_for(error)

    def _store(self, placed: Future[Placed]) -> None:
        if self._memory.waiting >= self._memory.parameters.queue_limit:
            self._drop(DropReason.QUEUE_FULL, "the writer does not keep up; raise queue_limit or send less")
            return
        try:
            new = placed.result().new
            self._memory.store(new, background=True).add_done_callback(partial(self._settle, new))
        except RobotMemoryError as error:
            self._drop_for(error)

    def _settle(self, new: NewMemory, future: Future[Stored]) -> None:
        error = future.exception()
        if error is not None:
            self._drop(DropReason.NOT_WRITTEN, str(error))
            return
        self.counter.store(1)
        _LOG.debug("~/perception at %.3f s: stored as %d", new.observed_at / 1e9, future.result().memory_id)

    def _drop_for(self, error: RobotMemoryError) -> None:
        reason = DropReason.of_field(error.field) if isinstance(error, InvalidFieldError) else DropReason.NOT_WRITTEN
        self._drop(reason, str(error))

    def _drop(self, reason: DropReason, message: str) -> None:
        self.counter.drop(reason, 1, message)
        _LOG.debug("~/perception: dropped 1: %s (%s)", reason.value, message)
