"""Intakes of one topic for tests, and what goes into them."""

from __future__ import annotations

import math
from typing import Any

from robotmem_ros.frames import Transform, TransformBuffer
from robotmem_ros.memory import Memory, RobotMemory
from robotmem_ros.perception import Intake, TopicCounts, parse_topic

from .messages import PRESETS, STAMP_NS, RosbagsMaker, pose

SECOND = 1_000_000_000
POSE = "geometry_msgs/msg/PoseStamped"
DETECTIONS = "vision_msgs/msg/Detection3DArray"
STRING = "std_msgs/msg/String"
QUARTER = Transform(10.0, 0.0, 0.0, 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))


def intake_into(memory: RobotMemory, maker: RosbagsMaker, type_name: str, **options: Any) -> Intake:
    """An intake of the topic `seen`, with `keys` of its configuration; no transform comes unless it is given one."""
    config = parse_topic("seen", {"topic": "/seen", "type": type_name, **options.pop("keys", {})}, PRESETS)
    settings = {"transform_timeout": 60.0, "buffer": TransformBuffer()}
    return Intake(memory, [config], maker.types, **{**settings, **options})


def settled(memory: RobotMemory, intake: Intake) -> TopicCounts:
    memory.flush()
    counts = intake.counts()["seen"]
    assert counts.observations == counts.stored_count + counts.waiting_count + counts.drops.total()
    return counts


def stored(memory: RobotMemory) -> list[Memory]:
    memory.flush()
    found = memory.recall(n=100, min_confidence=0.0, kinds="perception", after=1, include_unconfirmed=True)
    return sorted(found.memories, key=lambda one: one.id)


def header(frame: str, stamp_ns: int = STAMP_NS) -> dict[str, Any]:
    sec, nanosec = divmod(stamp_ns, SECOND)
    return {"stamp": {"sec": sec, "nanosec": nanosec}, "frame_id": frame}


def stamped(maker: RosbagsMaker, frame: str, stamp_ns: int = STAMP_NS) -> Any:
    return maker.make(POSE, {"header": header(frame, stamp_ns), "pose": pose(1, 2, 3)})


def transforms(maker: RosbagsMaker, parent: str, child: str, stamp_ns: int, transform: Transform) -> Any:
    names = ("x", "y", "z", "x", "y", "z", "w")
    parts = list(zip(names, transform, strict=True))
    one = {
        "header": header(parent, stamp_ns),
        "child_frame_id": child,
        "transform": {"translation": dict(parts[:3]), "rotation": dict(parts[3:])},
    }
    return maker.make("tf2_msgs/msg/TFMessage", {"transforms": [one]})
