"""The topic ~/status: latched, and renewed when something changed."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from robotmem_ros.msg import MemoryStatus

from ..memory import Status
from . import qos
from .conversions import Clock, fill_status, time_message
from .perception_topic import Counts
from .topics import TopicState


class StatusTopic:
    """Publishes the state of the node and what its memory holds."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._publisher = node.create_publisher(MemoryStatus, "~/status", qos.latched())
        self._clock = clock
        self._last: MemoryStatus | None = None

    def publish(
        self, state: str, why: str, status: Status | None, counts: Counts, topics: Sequence[TopicState]
    ) -> None:
        """Publishes the status if it differs from the last one but for the stamp; `why` is what is wrong."""
        message = MemoryStatus(state=state)
        if status is not None:
            fill_status(message, status)
        message.reason = "; ".join(filter(None, (why, message.reason)))
        message.topic_names = [topic.config.name for topic in topics]
        message.topic_received = [topic.arrived for topic in topics]
        message.topic_stored = [topic.stored for topic in topics]
        message.topic_left_out = [sum(topic.left_out.values()) for topic in topics]
        message.received, message.stored = counts.received, counts.stored
        message.refused = sum(counts.refused.values())
        message.refused_reasons = sorted(counts.refused)
        message.refused_counts = [counts.refused[reason] for reason in message.refused_reasons]
        if message != self._last:
            self._last = message
            self._publisher.publish(_stamped(message, self._clock()))


def _stamped(message: MemoryStatus, now: int) -> MemoryStatus:
    fields = {name: getattr(message, name) for name in message.get_fields_and_field_types()}
    return MemoryStatus(**{**fields, "stamp": time_message(now)})
