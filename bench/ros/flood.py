"""Publish on a topic at a steady rate, in a separate process, so that it takes no time from the measurement.

    python3 -m bench.ros.flood strings|detections|perceptions|repeated TOPIC RATE SECONDS FIRST

Publishes RATE messages a second for SECONDS: texts of 200 bytes, all different and numbered from FIRST; arrays of
twenty detections in the frame `map`; perceptions with a context, all different or with only 200 descriptions. Prints
the number of messages and the seconds that took. Messages are serialised before: their receiver is measured.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

import rclpy
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from bench.ros.client import perception
from bench.worlds.house import make_world

try:
    from vision_msgs.msg import Detection3D, Detection3DArray, ObjectHypothesisWithPose
except ImportError:
    from visualization_msgs.msg import Marker, MarkerArray

    Detection3DArray = None

IN_AN_ARRAY = 20
_DESCRIPTIONS = 200
_TEXT = 200
_DIFFERENT = 500
"""Arrays that are serialised, then repeated. Their stamps are zero: seen when they are received."""


def command(kind: str, topic: str, rate: float, seconds: float, first: int) -> list[str]:
    """Return the command that runs this module."""
    return [sys.executable, "-m", "bench.ros.flood", kind, topic, str(rate), str(seconds), str(first)]


def type_of(kind: str) -> str:
    """Return the name of the type that is published: markers if vision_msgs is missing."""
    (message,) = _messages(kind, 1, 0)
    return f"{type(message).__module__.partition('.')[0]}/msg/{type(message).__name__}"


def _messages(kind: str, count: int, first: int) -> list[Any]:
    if kind == "strings":
        return [String(data=f"caption {first + number}: ".ljust(_TEXT, "m")) for number in range(count)]
    if kind == "detections":
        dice = random.Random(first)
        return [_array(dice) for _ in range(min(count, _DIFFERENT))]
    memories = make_world(count, 0, first).memories
    texts = [memory.content for memory in memories[: _DESCRIPTIONS if kind == "repeated" else count]]
    contents = zip(memories, cycle(texts), strict=False)
    return [perception(replace(memory, content=text)) for memory, text in contents]


def _array(dice: random.Random) -> Any:
    grid = [(2.0 * (index % 5), 2.0 * (index // 5)) for index in range(IN_AN_ARRAY)]
    places = [(x + dice.gauss(0, 0.05), y + dice.gauss(0, 0.05)) for x, y in grid]
    if Detection3DArray is None:
        return MarkerArray(markers=[_marker(x, y) for x, y in places])
    message = Detection3DArray(detections=[_detection(x, y, dice.uniform(0.5, 1.0)) for x, y in places])
    message.header.frame_id = "map"
    return message


def _marker(x: float, y: float) -> Any:
    marker = Marker(ns="chair")
    marker.header.frame_id = "map"
    marker.pose.position.x, marker.pose.position.y, marker.pose.orientation.w = x, y, 1.0
    return marker


def _detection(x: float, y: float, score: float) -> Any:
    best = ObjectHypothesisWithPose()
    best.hypothesis.class_id, best.hypothesis.score = "chair", score
    detection = Detection3D(results=[best])
    detection.header.frame_id = "map"
    detection.bbox.center.position.x, detection.bbox.center.position.y = x, y
    detection.bbox.center.orientation.w = 1.0
    return detection


def main(kind: str, topic: str, rate: float, seconds: float, first: int) -> None:
    """Publish once there is a subscriber; end when all messages are acknowledged, after 10 seconds at most."""
    count = round(rate * seconds)
    messages = _messages(kind, count, first)
    serialised = [serialize_message(message) for message in messages]
    rclpy.init()
    node = rclpy.create_node("flood")
    publisher = node.create_publisher(type(messages[0]), topic, QoSProfile(depth=5000))
    while not publisher.get_subscription_count():
        time.sleep(0.02)
    time.sleep(0.5)
    start = time.perf_counter()
    for number, message in enumerate(islice(cycle(serialised), count)):
        pause = start + number / rate - time.perf_counter()
        if pause > 0:
            time.sleep(pause)
        publisher.publish(message)
    took = time.perf_counter() - start
    publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=10))
    print(count, took, flush=True)
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
