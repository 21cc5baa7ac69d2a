"""The topic ~/objects: what is believed to be there now, as detections for planners."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Pose, Quaternion
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from ..memory import RobotMemory, SeenObject
from ..memory.errors import MemoryClosedError, RobotMemoryError
from ..memory.storage import revisions
from ..messages.fields import point_message, vector_message
from ..perception import UnknownTypeError, message_class
from . import subscriptions as qos

_MOST = 10_000
_TYPES = tuple(f"vision_msgs/msg/{name}" for name in ("Detection3DArray", "Detection3D", "ObjectHypothesisWithPose"))
_Look = tuple[object, ...]


class ObjectsTopic:
    """Publish all confirmed objects in the memory frame, from creation to `close`, when one of them has changed.

    Nothing is published where nobody listens. Do nothing if the period is 0 or vision_msgs is not installed.
    """

    def __init__(self, node: Node, memory: RobotMemory, period: float) -> None:
        self._node = node
        self._memory = memory
        self._publisher: Any = None
        if not period:
            return
        try:
            self._array, self._detection, self._result = map(message_class, _TYPES)
        except UnknownTypeError:
            node.get_logger().info("vision_msgs is not installed: no ~/objects", once=True)
            return
        self._offer()
        # Steady time: under simulated time without a clock, no other timer fires.
        self._timer = node.create_timer(period, self._try, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def close(self) -> None:
        """End the topic."""
        if self._publisher is not None:
            self._node.destroy_timer(self._timer)
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def _offer(self) -> None:
        self._publisher = self._node.create_publisher(self._array, "~/objects", qos.latched())
        self._revision = -1
        self._looks: tuple[_Look, ...] | None = None

    def _try(self) -> None:
        if not self._publisher.get_subscription_count():
            if self._looks is not None:
                # Whoever comes next would get what was latched for the last one.
                self._node.destroy_publisher(self._publisher)
                self._offer()
            return
        try:
            self._publish()
        except MemoryClosedError:
            pass
        except RobotMemoryError as error:
            self._node.get_logger().error(f"no objects: {error}", throttle_duration_sec=10.0)

    def _publish(self) -> None:
        with self._memory.parts.database.snapshot() as snapshot:
            revision = revisions.latest(snapshot)
        if revision == self._revision:
            return
        frame = self._memory.parameters.memory_frame
        objects = [seen for seen in self._memory.objects(_MOST) if seen.frame_id == frame]
        looks = tuple(map(_look, objects))
        self._revision = revision
        if looks == self._looks:
            return
        self._looks = looks
        array = self._array(detections=[self._message(seen) for seen in objects])
        for header in (array.header, *(detection.header for detection in array.detections)):
            header.frame_id, header.stamp = frame, self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _message(self, seen: SeenObject) -> Any:
        x, y, z, w = map(float, seen.orientation)
        pose = Pose(position=point_message(seen.position), orientation=Quaternion(x=x, y=y, z=z, w=w))
        result, detection = self._result(), self._detection(id=str(seen.memory_id))
        result.hypothesis.class_id, result.hypothesis.score = seen.label, float(seen.presence)
        result.pose.pose = detection.bbox.center = pose
        detection.bbox.size = vector_message(seen.size)
        detection.results = [result]
        return detection


def _look(seen: SeenObject) -> _Look:
    # Rounded, so that tiny changes cause no message.
    numbers = (*seen.position, *seen.orientation, *(seen.size or ()), seen.presence)
    return seen.memory_id, seen.label, tuple(round(number, 2) for number in numbers)
