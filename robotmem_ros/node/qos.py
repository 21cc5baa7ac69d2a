"""Quality of service by intent."""

from __future__ import annotations

from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy


def latched() -> QoSProfile:
    """The latest message, given to late joiners too."""
    return QoSProfile(
        depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
    )


def intake(reliability: str, depth: int) -> QoSProfile:
    """Messages that should become memories; `reliability` is `reliable` or `best_effort`."""
    return QoSProfile(depth=depth, reliability=QoSReliabilityPolicy[reliability.upper()])
