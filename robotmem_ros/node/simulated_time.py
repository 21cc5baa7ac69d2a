"""The robot's time where it is simulated: it may stand still or go slowly, as in a recording that is paused."""

from __future__ import annotations

import math

from rclpy.node import Node

_TOPIC = "/clock"
_SECOND = 1e-9


class SimulatedTime:
    """Seconds of /clock; NaN where the robot's time is not simulated, or while nobody publishes it.

    `poll` looks from time to time for who publishes it: a player that is paused still does, one that ended does not.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock = node.get_clock()
        self._runs = False

    def __call__(self) -> float:
        """What the clock shows."""
        return self._clock.now().nanoseconds * _SECOND if self._runs else math.nan

    def poll(self) -> None:
        """Sees whether there is a simulated time."""
        self._runs = bool(self._clock.ros_time_is_active) and self._node.count_publishers(_TOPIC) > 0
