"""Choose the topics that transforms come from, live and in recordings, and keep those of several robots apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

from .transform_buffer import strip_slash

TF_TYPE = "tf2_msgs/msg/TFMessage"
Namespace = tuple[str, ...]


class TransformTopics(NamedTuple):
    """Topics whose transforms go together."""

    namespace: Namespace
    """Namespace of the robot, in parts; empty for the root."""
    topics: frozenset[str]

    @property
    def are_of_one_robot(self) -> bool:
        """Tell whether no other robot can be among them: one is above the topic they go with, or all are together."""
        spaces = {_namespace(topic) for topic in self.topics}
        return bool(self.namespace) or () in spaces or len(spaces) <= 1


def transform_topics(available: Iterable[str], topic: str) -> TransformTopics:
    """Choose the topics whose transforms go with a topic: all that are available, but those of other robots.

    If a namespace above the topic has transforms, as /robot1 of /robot1/detections, that is its robot; others are in
    namespaces that are neither above nor below it.
    """
    spaces = {name: _namespace(name) for name in available}
    above = _namespace(topic)
    robot = max((space for space in spaces.values() if above[: len(space)] == space), key=len, default=())
    return TransformTopics(robot, frozenset(name for name, space in spaces.items() if _are_related(space, robot)))


def is_static(topic: str) -> bool:
    """Tell by its name whether the transforms of a topic hold for all times."""
    return topic.endswith("static")


def unread_hint(unread: Collection[str]) -> str:
    """Say which topics have transforms that are not read; empty if there are none."""
    return f"{', '.join(sorted(unread))} has transforms and is not read: name it in tf_topics" if unread else ""


class FrameOwners:
    """Keep the transforms of robots apart: those of a frame come from one namespace, the one nearest to the robot's."""

    def __init__(self, robot: Namespace = ()) -> None:
        self.robot = robot
        """Namespace of the robot."""
        self._owners: dict[str, tuple[tuple[int, int], str]] = {}
        self.problem = ""
        """What two namespaces publish, and the way out; empty if nothing."""

    def own(self, topic: str, message: Any) -> Any:
        """Return a tf2_msgs/TFMessage, without the transforms of frames that a nearer namespace publishes."""
        space = _namespace(topic)
        rank = self._rank(space)
        transforms = [one for one in message.transforms if self._is_own(strip_slash(one.child_frame_id), rank, topic)]
        return message if len(transforms) == len(message.transforms) else SimpleNamespace(transforms=transforms)

    def _is_own(self, frame: str, rank: tuple[int, int], topic: str) -> bool:
        owner_rank, owner = self._owners.setdefault(frame, (rank, topic))
        if owner == topic or _namespace(owner) == _namespace(topic):
            return True
        if rank < owner_rank:
            self._owners[frame] = rank, topic
            owner, topic = topic, owner
        others = f"transforms of {frame!r} come from {owner} and {topic}"
        self.problem = self.problem or f"{others}; those of {owner} are used, tf_topics names others"
        return rank < owner_rank

    def _rank(self, space: Namespace) -> tuple[int, int]:
        distance = len(space) - len(self.robot)
        if not _are_related(space, self.robot):
            return 2, 0
        return (1, distance) if distance > 0 else (0, -distance)


def _namespace(topic: str) -> Namespace:
    return tuple(topic.strip("/").split("/")[:-1])


def _are_related(one: Namespace, other: Namespace) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]
