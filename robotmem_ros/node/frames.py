"""Brings the target of a spatial sort into the memory frame, with tf2 where it is installed."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time as RclpyTime

from ..memory.errors import FrameMismatchError

_PATIENCE = Duration(seconds=1.0)


class TargetFrames:
    """Transforms points. It listens to tf from the first point that needs it, for listening costs all the time."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._buffer: Any = None
        self._listener: Any = None

    def transformed(
        self, point: tuple[float, float, float], source: str, target: str, stamp: Time
    ) -> tuple[float, float, float]:
        """A point of frame `source` in frame `target` at a time; a zero stamp means the latest transform.

        Waits up to a second for the transform, so call it from a thread that may wait.

        Raises:
            FrameMismatchError: there is no tf2, or no transform between the frames at that time.
        """
        try:
            import tf2_ros
        except ImportError:
            raise FrameMismatchError(source, target, "tf2_ros is not installed") from None
        if self._buffer is None:
            self._buffer = tf2_ros.Buffer()
            self._listener = tf2_ros.TransformListener(self._buffer, self._node)
        try:
            found = self._buffer.lookup_transform(target, source, RclpyTime.from_msg(stamp), _PATIENCE)
        except tf2_ros.TransformException as cause:
            raise FrameMismatchError(source, target, str(cause)) from cause
        turn, shift = found.transform.rotation, found.transform.translation
        x, y, z = _rotated(point, (turn.x, turn.y, turn.z, turn.w))
        return x + shift.x, y + shift.y, z + shift.z


def _rotated(
    point: tuple[float, float, float], quaternion: tuple[float, float, float, float]
) -> tuple[float, float, float]:
    # v + 2w (q x v) + 2 q x (q x v), with q the vector part of the unit quaternion and w its scalar part.
    qx, qy, qz, qw = quaternion
    x, y, z = point
    tx, ty, tz = 2 * (qy * z - qz * y), 2 * (qz * x - qx * z), 2 * (qx * y - qy * x)
    return (
        x + qw * tx + qy * tz - qz * ty,
        y + qw * ty + qz * tx - qx * tz,
        z + qw * tz + qx * ty - qy * tx,
    )
