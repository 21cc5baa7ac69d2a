"""The topic ~/markers: the remembered objects for RViz."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
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
_WHITE = (1.0, 1.0, 1.0, 1.0)
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
    x, y, z = (round(part, 2) for part in seen_object.position)
    return seen_object.frame_id, seen_object.label, x, y, z, round(seen_object.confidence, 1), colour


def _markers(memory_id: int, look: _Look) -> list[Marker]:
    frame, label, x, y, z, alpha, colour = look
    ball = _marker(memory_id, frame, "objects", Marker.SPHERE, at=(x, y, z), colour=(*colour, max(alpha, 0.1)))
    ball.scale = Vector3(x=_BALL, y=_BALL, z=_BALL)
    text = _marker(memory_id, frame, "labels", Marker.TEXT_VIEW_FACING, at=(x, y, z + 2 * _TEXT), colour=_WHITE)
    text.color.a = max(alpha, 0.1)
    text.scale = Vector3(z=_TEXT)
    text.text = label
    return [ball, text]


def _deletions(memory_id: int, look: _Look) -> list[Marker]:
    markers = []
    for space in ("objects", "labels"):
        marker = Marker(ns=space, id=memory_id % _IDS, action=Marker.DELETE)
        marker.header.frame_id = look[0]
        markers.append(marker)
    return markers


def _marker(
    memory_id: int,
    frame: str,
    space: str,
    kind: int,
    *,
    at: tuple[float, float, float],
    colour: tuple[float, float, float, float],
) -> Marker:
    # No stamp: shown by the latest transform.
    marker = Marker(
        ns=space,
        id=memory_id % _IDS,
        type=kind,
        action=Marker.ADD,
        pose=Pose(
            position=Point(x=float(at[0]), y=float(at[1]), z=float(at[2])),
            orientation=Quaternion(x=0.0, y=0.0, z=0.0, w=1.0),
        ),
        color=ColorRGBA(r=float(colour[0]), g=float(colour[1]), b=float(colour[2]), a=float(colour[3])),
    )
    marker.header.frame_id = frame
    return marker
