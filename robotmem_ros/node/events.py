"""The topic ~/events: what became of objects and facts, each event once and in order."""

from __future__ import annotations

import threading

from rclpy.node import Node

from robotmem_ros.msg import Event as EventMessage

from ..memory import RobotMemory
from ..memory.errors import MemoryClosedError, RobotMemoryError
from ..messages.fields import to_field
from . import subscriptions as qos

_DEPTH = 1000
"""Events that late joiners get."""
_PAGE = 200
"""Events that are read at once."""
_PERIOD = 0.5
"""Seconds between two looks for the events that other processes wrote."""


class EventsTopic:
    """Publish from creation to `close`: first the last events of the file, then each as it is committed."""

    def __init__(self, node: Node, memory: RobotMemory) -> None:
        self._node = node
        self._memory = memory
        self._publisher = node.create_publisher(EventMessage, "~/events", qos.latched(_DEPTH))
        self._written = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="memory-events", daemon=True)
        memory.parts.database.notify_of_events(self._written.set)
        self._thread.start()

    def close(self) -> None:
        """Publish what is committed, and end the topic."""
        self._is_closing = True
        self._written.set()
        self._thread.join()
        self._node.destroy_publisher(self._publisher)

    def _run(self) -> None:
        cursor: int | None = None
        while not self._is_closing:
            cursor = self._try(cursor)
            self._written.wait(_PERIOD)
            self._written.clear()
        self._try(cursor)

    def _try(self, cursor: int | None) -> int | None:
        try:
            return self._publish(cursor)
        except MemoryClosedError:
            return cursor
        except RobotMemoryError as error:
            self._node.get_logger().error(f"no events: {error}", throttle_duration_sec=10.0)
            return cursor

    def _publish(self, cursor: int | None) -> int:
        """Publish what follows the cursor, of which no more is skipped than late joiners would lose; return its end."""
        page = self._memory.events(cursor or 0, n=1 if cursor is None else _PAGE)
        if cursor is None or not self._publisher.get_subscription_count():
            cursor = max(cursor or 0, page.latest - _DEPTH)
            page = self._memory.events(cursor, n=_PAGE)
        while page.events:
            for event in page.events:
                self._publisher.publish(to_field("robotmem_ros/Event")(event))
            cursor = page.events[-1].sequence
            page = self._memory.events(cursor, n=_PAGE)
        return cursor
