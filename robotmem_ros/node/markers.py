"""The topic ~/markers: the remembered objects for RViz."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from geometry_msgs.msg import Point, Vector3
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ..memory import SeenObject
from . import subscriptions as qos

_NS = 1_000_000_000
_COLOURS = (
    (10, (0.1, 0.9, 0.2)),
    (60, (0.6, 0.9, 0.1)),
    (600, (1.0, 0.8, 0.1)),
    (3600, (1.0, 0.5, 0.1)),
    (86_400, (0.9, 0.2, 0.2)),
)
"""Greatest age in seconds for each colour: green was seen just now, red today."""
_OLDER = (0.5, 0.5, 0.6)
_BALL, _TEXT = 0.15, 0.12
_IDS = 2**31

_Look = tuple[str, str, float, float, float, float, tuple[float, float, float]]


class Markers:
    """Show a ball and a text for each object: confidence as opacity, age as colour.

    Only what changed is published, and nothing where nobody listens; all of it when a listener comes.
    """

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(MarkerArray, "~/markers", qos.latched())
        self._listeners = 0
        self._last_looks: dict[int, _Look] = {}

    def publish(self, objects: Callable[[], Iterable[SeenObject]], now: int) -> None:
        """Publish what changed of the objects since the last time; `now` is the robot's clock in nanoseconds."""
        listeners, before = self._publisher.get_subscription_count(), self._listeners
        self._listeners = listeners
        if not listeners:
            return
        looks = {seen_object.memory_id: _look(seen_object, now) for seen_object in objects()}
        markers = []
        if listeners > before:
            self._last_looks = {}
            markers.append(Marker(action=Marker.DELETEALL))
        for memory_id in self._last_looks.keys() - looks.keys():
            markers += _deletions(memory_id, self._last_looks[memory_id])
        for memory_id, look in looks.items():
            if self._last_looks.get(memory_id) != look:
                markers += _markers(memory_id, look)
        self._last_looks = looks
        if markers:
            self._publisher.publish(MarkerArray(markers=markers))


def _look(seen_object: SeenObject, now: int) -> _Look:
    # Rounded, so that tiny changes cause no message.
    age = (now - seen_object.last_seen) / _NS
    colour = next((colour for limit, colour in _COLOURS if age < limit), _OLDER)
    x, y, z = (round(float(part), 2) for part in seen_object.position)
    return seen_object.frame_id, seen_object.label, x, y, z, round(float(seen_object.confidence), 1), colour


def _markers(memory_id: int, look: _Look) -> list[Marker]:
    frame, label, x, y, z, confidence, (red, green, blue) = look
    alpha = max(confidence, 0.1)
    ball = _marker(memory_id, frame, "objects", type=Marker.SPHERE, scale=Vector3(x=_BALL, y=_BALL, z=_BALL))
    ball.pose.position, ball.color = Point(x=x, y=y, z=z), ColorRGBA(r=red, g=green, b=blue, a=alpha)
    text = _marker(memory_id, frame, "labels", type=Marker.TEXT_VIEW_FACING, scale=Vector3(z=_TEXT), text=label)
    text.pose.position, text.color = Point(x=x, y=y, z=z + 2 * _TEXT), ColorRGBA(r=1.0, g=1.0, b=1.0, a=alpha)
    return [ball, text]


def _deletions(memory_id: int, look: _Look) -> list[Marker]:
    return [_marker(memory_id, look[0], space, action=Marker.DELETE) for space in ("objects", "labels")]


def _marker(memory_id: int, frame: str, space: str, **fields: Any) -> Marker:
    # No stamp: shown by the latest transform.
    marker = Marker(ns=space, id=memory_id % _IDS, **fields)
    marker.header.frame_id = frame
    return marker
