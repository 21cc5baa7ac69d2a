"""Reports of a node's intake, as one writes them into its file."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from robotmem_ros.memory.intake_report import PERCEPTIONS, TRANSFORMS, IntakeReport, TopicReport

DROPPED = "dropped: 80 unknown_frame (frame 'camera': no transform has named it)"
SECOND = 10**9


def report(age: float = 0.0, **fields: Any) -> IntakeReport:
    """Return what an active node told so many seconds ago: 80 of 85 messages of one topic were dropped."""
    now = time.time_ns()
    detections = TopicReport(
        name="detections", topic="/detections", type="geometry_msgs/msg/PoseStamped", role=PERCEPTIONS,
        qos="reliable, volatile", publishers=1, received=85, received_per_second=4.9, last_received_at=now, stored=5,
        drops={"unknown_frame": 80}, problem=DROPPED,
    )  # fmt: skip
    tf = TopicReport("/tf", "/tf", "tf2_msgs/msg/TFMessage", TRANSFORMS, "", 0, 0, 0.0, None)
    told = IntakeReport("/memory", "active", now - round(age * SECOND), topics=(detections, tf))
    return replace(told, **fields)


def healthy(age: float = 0.0) -> IntakeReport:
    """Return what a node told that lacks nothing."""
    told = report(age)
    return replace(told, topics=tuple(replace(topic, problem="", drops={}) for topic in told.topics))
