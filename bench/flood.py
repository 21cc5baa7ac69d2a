"""Publishes on a topic at a steady rate, in a process of its own, so that it takes no time from who measures.

    python3 -m bench.flood strings|detections|perceptions|repeated TOPIC RATE SECONDS FIRST

Publishes RATE messages a second for SECONDS: texts of 200 bytes, all different and numbered from FIRST; arrays of
twenty detections in the frame `map`; perceptions with a context, all different or of 200 descriptions. Prints how many
it published and the seconds that took. Messages are serialised before, for what is measured is who takes them.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from typing import Any

import rclpy
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String

IN_AN_ARRAY = 20
PERCEPTIONS = ("perceptions", "repeated")
_DESCRIPTIONS = 200
_TEXT = 200
_DIFFERENT = 500
"""Arrays that are serialised; more are these again. Their stamps are zero: seen when they are received."""


def kind_of(name: str) -> tuple[Any, str]:
    """The class and the name of the type of what is published; markers where vision_msgs is missing."""
    if name == "strings":
        return String, "std_msgs/msg/String"
    if name in PERCEPTIONS:
        from robotmem_ros.msg import Perception

        return Perception, "robotmem_ros/msg/Perception"
    try:
        from vision_msgs.msg import Detection3DArray
    except ImportError:
        from visualization_msgs.msg import MarkerArray

        return MarkerArray, "visualization_msgs/msg/MarkerArray"
    return Detection3DArray, "vision_msgs/msg/Detection3DArray"


def _string(number: int) -> String:
    return String(data=f"caption {number}: ".ljust(_TEXT, "m"))


def _array(kind: Any, dice: random.Random) -> Any:
    grid = [(2.0 * (one % 5), 2.0 * (one // 5)) for one in range(IN_AN_ARRAY)]
    places = [(x + dice.gauss(0, 0.05), y + dice.gauss(0, 0.05)) for x, y in grid]
    message = kind()
    if hasattr(message, "markers"):
        from visualization_msgs.msg import Marker

        for x, y in places:
            marker = Marker(ns="chair")
            marker.header.frame_id = "map"
            marker.pose.position.x, marker.pose.position.y, marker.pose.orientation.w = x, y, 1.0
            message.markers.append(marker)
        return message
    from vision_msgs.msg import Detection3D, ObjectHypothesisWithPose

    message.header.frame_id = "map"
    for x, y in places:
        best = ObjectHypothesisWithPose()
        best.hypothesis.class_id, best.hypothesis.score = "chair", dice.uniform(0.5, 1.0)
        seen = Detection3D(results=[best])
        seen.header.frame_id = "map"
        seen.bbox.center.position.x, seen.bbox.center.position.y, seen.bbox.center.orientation.w = x, y, 1.0
        message.detections.append(seen)
    return message


def _messages(name: str, kind: Any, count: int, first: int) -> list[bytes]:
    if name == "strings":
        return [serialize_message(_string(first + number)) for number in range(count)]
    if name in PERCEPTIONS:
        return _perceptions(count, first, _DESCRIPTIONS if name == "repeated" else count)
    dice = random.Random(first)
    different = [serialize_message(_array(kind, dice)) for _ in range(min(count, _DIFFERENT))]
    return [different[number % len(different)] for number in range(count)]


def _perceptions(count: int, first: int, descriptions: int) -> list[bytes]:
    from bench.node import perception
    from bench.world import make_world

    memories = make_world(count, 0, first).memories
    texts = [memory.content for memory in memories[:descriptions]]
    return [
        serialize_message(perception(replace(memory, content=texts[number % descriptions])))
        for number, memory in enumerate(memories)
    ]


def main(name: str, topic: str, rate: float, seconds: float, first: int) -> None:
    """Publishes when somebody listens, and leaves when all was acknowledged or a second has passed."""
    kind, _ = kind_of(name)
    messages = _messages(name, kind, round(rate * seconds), first)
    rclpy.init()
    node = rclpy.create_node("flood")
    publisher = node.create_publisher(kind, topic, QoSProfile(depth=5000))
    while not publisher.get_subscription_count():
        time.sleep(0.02)
    time.sleep(0.5)
    began = time.perf_counter()
    for number, message in enumerate(messages):
        pause = began + number / rate - time.perf_counter()
        if pause > 0:
            time.sleep(pause)
        publisher.publish(message)
    took = time.perf_counter() - began
    publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=10))
    print(len(messages), took, flush=True)
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
