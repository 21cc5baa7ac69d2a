"""The topic ~/events, and those of watches: what became of objects and facts, each event once and in order."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node

from robotmem_ros.msg import Event as EventMessage
from robotmem_ros.msg import Match as MatchMessage

from ..memory import RobotMemory
from ..memory.errors import MemoryClosedError, RobotMemoryError
from ..memory.verbs.watching import Watch
from ..messages.fields import to_field
from . import subscriptions as qos

_DEPTH = 1000
"""Events that late joiners get."""
_PAGE = 200
"""Events that are read at once."""
_PERIOD = 0.5
"""Seconds between two looks for the events that other processes wrote."""
_SOON = 0.01
"""Seconds between two pages of a topic that has more."""
_LONELY = 10.0
"""Seconds without a subscriber after which a watch ends."""
_MOST = 32
"""Watches at the same time."""


class OpenWatch(NamedTuple):
    """The topic of a watch."""

    topic: str
    cursor: int
    """Number of the event after which it begins."""


class EventTopics:
    """Publish from creation to `close` what is committed: on ~/events, and on a topic for each watch."""

    def __init__(self, node: Node, memory: RobotMemory) -> None:
        self._node = node
        self._memory = memory
        self._topics: list[_Events | _Watch] = [_Events(node, memory)]
        self._lock = threading.Lock()
        self._written = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="memory-events", daemon=True)
        memory.parts.database.notify_of_events(self._written.set)
        self._thread.start()

    def watch(self, conditions: Mapping[str, Any]) -> OpenWatch:
        """Open the topic of a watch, with the arguments of `RobotMemory.watch`.

        Raises:
            InvalidFieldError: a condition cannot be used.
            RobotMemoryError: there are too many watches.
        """
        watch = self._memory.watch(**conditions)
        opened = OpenWatch(self._node.resolve_topic_name(f"~/watch/w{uuid.uuid4().hex[:12]}"), watch.cursor)
        with self._lock:
            if len(self._topics) > _MOST:
                raise RobotMemoryError(f"{_MOST} watches are open, which is the most; end one by unsubscribing from it")
            self._topics.append(_Watch(self._node, opened.topic, watch))
        return opened

    def close(self) -> None:
        """Publish what is committed, and end the topics."""
        self._is_closing = True
        self._written.set()
        self._thread.join()
        for topic in self._topics:
            topic.close()

    def _run(self) -> None:
        while not self._is_closing:
            is_behind = self._publish()
            self._written.wait(_SOON if is_behind else _PERIOD)
            self._written.clear()
        self._publish()

    def _publish(self) -> bool:
        is_behind = False
        for topic in [*self._topics]:
            try:
                is_behind |= topic.publish()
            except MemoryClosedError:
                pass
            except RobotMemoryError as error:
                self._node.get_logger().error(f"no events: {error}", throttle_duration_sec=10.0)
            if topic.is_over:
                with self._lock:
                    self._topics.remove(topic)
                topic.close()
        return is_behind


class _Events:
    """First the last events of the file, then each as it is committed."""

    is_over = False

    def __init__(self, node: Node, memory: RobotMemory) -> None:
        self._node = node
        self._memory = memory
        self._cursor: int | None = None
        self._publisher = node.create_publisher(EventMessage, "~/events", qos.latched(_DEPTH))

    def close(self) -> None:
        """End the topic."""
        self._node.destroy_publisher(self._publisher)

    def publish(self) -> bool:
        """Publish what follows the cursor, of which no more is skipped than late joiners would lose."""
        page = self._memory.events(self._cursor or 0, n=1 if self._cursor is None else _PAGE)
        if self._cursor is None or not self._publisher.get_subscription_count():
            self._cursor = max(self._cursor or 0, page.latest - _DEPTH)
            page = self._memory.events(self._cursor, n=_PAGE)
        while page.events:
            for event in page.events:
                self._publisher.publish(to_field("robotmem_ros/Event")(event))
            self._cursor = page.events[-1].sequence
            page = self._memory.events(self._cursor, n=_PAGE)
        return False


class _Watch:
    """What satisfies the conditions of a watch, from its first subscriber on."""

    def __init__(self, node: Node, topic: str, watch: Watch) -> None:
        self._node = node
        self._watch = watch
        self._listened = time.monotonic()
        self._published = 0
        # Without callbacks, no executor has to wait for it, and a thread of its own can create it.
        callbacks = PublisherEventCallbacks(use_default_callbacks=False)
        self._publisher = node.create_publisher(MatchMessage, topic, qos.latched(_DEPTH), event_callbacks=callbacks)

    @property
    def is_over(self) -> bool:
        """Tell whether nobody has listened for some time."""
        return time.monotonic() - self._listened > _LONELY

    def close(self) -> None:
        """End the topic."""
        self._node.destroy_publisher(self._publisher)

    def publish(self) -> bool:
        """Publish the next page if somebody listens; while it catches up, only as much as subscribers keep."""
        if not self._publisher.get_subscription_count():
            return False
        self._listened = time.monotonic()
        if self._published + _PAGE > _DEPTH:
            if not self._publisher.wait_for_all_acked(Duration()):
                return True
            self._published = 0
        before = self._watch.cursor
        for match in self._watch.next(_PAGE):
            self._publisher.publish(to_field("robotmem_ros/Match")(match))
            self._published += 1
        if self._watch.cursor - before < _PAGE:
            # Not flooded, so it need not wait: acknowledgements come only every few seconds.
            self._published = 0
        return self._watch.cursor > before
