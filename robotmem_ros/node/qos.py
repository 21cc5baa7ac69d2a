"""Quality of service by intent."""

from __future__ import annotations

from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy


def latched() -> QoSProfile:
    """The latest message, given to late joiners too."""
    return QoSProfile(
        depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
    )


def requests() -> QoSProfile:
    """Requests of a service: the usual depth of 10 would lose what a burst holds beyond, and its callers would wait."""
    return QoSProfile(depth=1000, reliability=QoSReliabilityPolicy.RELIABLE)


def intake(reliability: str, depth: int) -> QoSProfile:
    """Messages that should become memories; `reliability` is `reliable` or `best_effort`."""
    return QoSProfile(depth=depth, reliability=QoSReliabilityPolicy[reliability.upper()])
