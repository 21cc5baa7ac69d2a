"""A bond with nav2_lifecycle_manager: heartbeats by which it notices that the node it activated is gone.

Only the messages of the package bond are needed, which come with nav2. As in nav2's own nodes, nothing watches the
manager in return.
"""

from __future__ import annotations

import uuid
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..perception import UnknownTypeError, message_class

_TYPE = "bond/msg/Status"
_TIMEOUT = 4.0
"""Seconds without a heartbeat after which a manager gives a node up, if it was not told otherwise."""


class Bond:
    """Publish heartbeats from `form` to `dissolve`. Do nothing if the period is 0 or bond is not installed."""

    def __init__(self, node: Node, period: float) -> None:
        self._node = node
        self._period = period
        self._instance = ""
        self._publisher: Any = None
        self._timer: Any = None
        if not period:
            return
        try:
            self._kind: Any = message_class(_TYPE)
        except UnknownTypeError:
            node.get_logger().debug("bond is not installed: no heartbeats for a nav2_lifecycle_manager")
        else:
            # From now on, since a manager waits two seconds for the first heartbeat, and discovery can take as long.
            self._publisher = node.create_publisher(self._kind, "bond", 1)

    def form(self) -> None:
        """Begin to publish heartbeats."""
        if self._publisher is None:
            return
        self._instance = str(uuid.uuid4())
        # Steady time: under simulated time without a clock, no other timer fires.
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(self._period, lambda: self._publish(active=True), clock=clock)
        self._publish(active=True)

    def dissolve(self) -> None:
        """Announce that the node leaves; a second call does nothing."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None
            self._publish(active=False)

    def _publish(self, *, active: bool) -> None:
        status = self._kind(
            id=self._node.get_name(),
            instance_id=self._instance,
            active=active,
            heartbeat_timeout=_TIMEOUT,
            heartbeat_period=self._period,
        )
        status.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(status)
