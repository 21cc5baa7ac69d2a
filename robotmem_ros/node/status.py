"""The topic ~/status: latched, and renewed when something changed."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from robotmem_ros.msg import MemoryStatus

from ..memory import RobotMemory
from . import qos
from .conversions import Clock, fill_status, time_message
from .perception_topic import Counts


class StatusTopic:
    """Publishes the state of the node and what its memory holds."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._publisher = node.create_publisher(MemoryStatus, "~/status", qos.latched())
        self._clock = clock
        self._last: MemoryStatus | None = None

    def publish(self, state: str, why: str, memory: RobotMemory | None, counts: Callable[[], Counts]) -> None:
        """Publishes the status if it differs from the last one but for the stamp; `why` is an error to be shown."""
        message = MemoryStatus(state=state, reason=why)
        # First, so that what is counted as stored is among the memories.
        seen = counts()
        if memory is not None:
            fill_status(message, memory.status())
        message.received, message.stored = seen.received, seen.stored
        message.refused = sum(seen.refused.values())
        message.refused_reasons = sorted(seen.refused)
        message.refused_counts = [seen.refused[reason] for reason in message.refused_reasons]
        if message != self._last:
            self._last = message
            self._publisher.publish(_stamped(message, self._clock()))


def _stamped(message: MemoryStatus, now: int) -> MemoryStatus:
    fields = {name: getattr(message, name) for name in message.get_fields_and_field_types()}
    return MemoryStatus(**{**fields, "stamp": time_message(now)})
