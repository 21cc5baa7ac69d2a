"""A recorded drive for tests: two cameras, transforms that lag, sampling, and a chair that is carried away."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from robotmem_ros.frames import Transform

from ..perception.messages import RosbagsMaker, detection

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
DETECTIONS, TF, POSE = "vision_msgs/msg/Detection3DArray", "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/PoseStamped"
CONFIG = """
/**:
  ros__parameters:
    embedding_model: ""
    perception_topics: [left, right, poses]
    left: {topic: /left, type: vision_msgs/msg/Detection3DArray, min_interval: 0.5}
    right:
      topic: /right
      type: vision_msgs/msg/Detection3DArray
      field_of_view: {range: 4.0, horizontal: 1.2, vertical: 1.2}
    poses: {topic: /pose, type: geometry_msgs/msg/PoseStamped, min_displacement: 0.5}
"""
CAMERAS = {"left": 0.7, "right": -0.7}
"""Where they look, in radians to the left."""
THINGS = [
    ("chair", 4.0, 1.5), ("chair", 4.5, 1.5), ("mug", 5.0, -1.5), ("plant", 7.0, 2.0), ("plant", 7.0, -2.0),
    ("table", 9.0, 2.0), ("bin", 9.0, -1.5), ("bin", 10.0, -1.5),
]  # fmt: skip
CARRIED = "chair"
"""Stands to the right from the start until it is carried on by three metres."""


class Recorded(NamedTuple):
    """One message: its topic and type, when it was recorded, and its bytes."""

    topic: str
    type_name: str
    receipt_ns: int
    raw: bytes


def drive(maker: RosbagsMaker, seconds: float = 20.0) -> list[Recorded]:
    """Return the messages of a drive, in the order of recording."""
    made = [Recorded("/tf_static", TF, START, maker.raw(TF, {"transforms": [*_mounts()]}))]
    for topic, type_name, stamp_ns, lag, values in _content(random.Random(5), seconds):
        made.append(Recorded(topic, type_name, stamp_ns + round(lag * SECOND), maker.raw(type_name, values)))
    return sorted(made, key=lambda one: one.receipt_ns)


def write(path: Path, maker: RosbagsMaker, messages: list[Recorded]) -> Path:
    """Write the drive as a recording."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topics = {one.topic: one.type_name for one in messages}
        connections = {
            topic: writer.add_connection(topic, type_name, typestore=maker.store) for topic, type_name in topics.items()
        }
        for one in messages:
            writer.write(connections[one.topic], one.receipt_ns, one.raw)
    return path


def _content(dice: random.Random, seconds: float) -> Iterator[tuple[str, str, int, float, dict[str, Any]]]:
    """Yield topic, type, stamp, how many seconds later it was recorded, and the content."""
    for tick in range(round(seconds * 20)):
        at = tick / 20
        stamp_ns = START + tick * SECOND // 20
        if tick % 10 == 0:
            yield "/tf", TF, stamp_ns, 0.3, {"transforms": [_link("map", "odom", stamp_ns, _correction(at))]}
        yield "/tf", TF, stamp_ns, 0.12, {"transforms": [_link("odom", "base", stamp_ns, _odometry(at))]}
        for camera, phase in (("left", 0), ("right", 2)):
            if tick % 4 == phase and tick > 20:
                header = _header(f"{camera}_optical_frame", stamp_ns)
                seen = [*_seen(dice, camera, at, header)]
                yield f"/{camera}", DETECTIONS, stamp_ns, 0.05, {"header": header, "detections": seen}
        if tick % 10 == 5:
            origin = {"position": {"x": 0.0}, "orientation": {"w": 1.0}}
            yield "/pose", POSE, stamp_ns, 0.01, {"header": _header("base", stamp_ns), "pose": origin}


def _correction(at: float) -> Transform:
    return Transform(0.05 * math.sin(at / 3), 0.02 * at / 10, 0.0, 0.0, 0.0, math.sin(0.01), math.cos(0.01))


def _odometry(at: float) -> Transform:
    yaw = 0.2 * math.sin(at / 2)
    return Transform(0.4 * at, 0.0, 0.0, 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))


def _mounts() -> Iterator[dict[str, Any]]:
    for camera, yaw in CAMERAS.items():
        yield _link("base", camera, 0, _mount(yaw))
        yield _link(camera, f"{camera}_optical_frame", 0, Transform(qx=-0.5, qy=0.5, qz=-0.5, qw=0.5))


def _mount(yaw: float) -> Transform:
    return Transform(0.1, 0.0, 0.5, 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))


def _seen(dice: random.Random, camera: str, at: float, header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    body = _correction(at).compose(_odometry(at)).compose(_mount(CAMERAS[camera]))
    to_body = body.inverse()
    for label, x, y in [*THINGS, (CARRIED, 8.0 if at > 4.0 else 4.0, -2.0)]:
        ahead, left, up = to_body.apply((x, y, 0.5))
        if 0.5 < ahead < 3.8 and abs(left) < 0.65 * ahead:
            place = (-left + dice.gauss(0, 0.03), -up + dice.gauss(0, 0.03), ahead + dice.gauss(0, 0.03))
            point = dict(zip("xyz", place, strict=True))
            box = {"center": {"position": point, "orientation": {"w": 1.0}}}
            yield detection(label, 0.5 + 0.4 * dice.random(), header=header, bbox=box)


def _header(frame: str, stamp_ns: int) -> dict[str, Any]:
    return {"stamp": {"sec": stamp_ns // SECOND, "nanosec": stamp_ns % SECOND}, "frame_id": frame}


def _link(parent: str, child: str, stamp_ns: int, transform: Transform) -> dict[str, Any]:
    names = ("x", "y", "z", "x", "y", "z", "w")
    parts = list(zip(names, transform, strict=True))
    moved = {"translation": dict(parts[:3]), "rotation": dict(parts[3:])}
    return {"header": _header(parent, stamp_ns), "child_frame_id": child, "transform": moved}
