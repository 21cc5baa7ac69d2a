"""Choose an executor, and run some callbacks of a node in a thread of their own.

A node belongs to one executor, and EventsExecutor knows no callback groups. So that services are answered while timers
work, and topics can pause without all else, a `CallbackThread` shows some services and subscriptions of the node to an
executor of its own. `ThreadedNode` hides them from the executor of the node.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, cast

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.task import Future

_TURN = 1.0
_LAST = 64
"""Callbacks between two looks at the time when a thread ends."""


def new_executor(node: Node) -> Executor:
    """Return an executor for the context of a node: EventsExecutor if this rclpy has it."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        node.get_logger().info("this rclpy has no EventsExecutor: services and topics take more time", once=True)
        return SingleThreadedExecutor(context=node.context)
    return EventsExecutor(context=node.context)


def spin_once(executor: Executor, node: Node, seconds: float) -> None:
    """Run one callback, waiting at most `seconds` for it; log an exception, so that it does not end the node.

    Always bounded: EventsExecutor of Kilted runs nothing without a timeout, and a turn that waits for ever can miss a
    signal.
    """
    _log_errors(node, executor.spin_once, timeout_sec=seconds)


def _log_errors(node: Node, spin: Callable[..., None], *arguments: Any, **options: Any) -> None:
    try:
        spin(*arguments, **options)
    except Exception:
        if node.context.ok():
            node.get_logger().error(f"a callback failed:\n{traceback.format_exc()}")


class CallbackThread:
    """Run the callbacks of some services and subscriptions of a node in a thread, from `start` to `close`.

    They are created with the callback group `group`, then given to `add`. `after` is called after each turn, in the
    thread.
    """

    def __init__(self, node: Node, name: str, after: Callable[[], None] = lambda: None) -> None:
        self.group = OwnThreadGroup()
        self.closing = threading.Event()
        self._node = node
        self._after = after
        self._calls = self._last_call = 0
        self._turn: Future[None] = Future()
        self._part = _Part(node)
        self._executor = new_executor(node)
        self._executor.add_node(cast(Node, self._part))
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to run callbacks."""
        self._thread.start()

    def add(self, entity: Service[Any, Any] | Subscription[Any]) -> None:
        """Run the callbacks of a service or subscription from now on."""
        if isinstance(entity, Service):
            self._part.services += (entity,)
        else:
            self._part.subscriptions += (entity,)
        self._executor.wake()

    def remove(self, subscription: Subscription[Any]) -> None:
        """Run the callbacks of a subscription no more."""
        self._part.subscriptions = tuple(entity for entity in self._part.subscriptions if entity is not subscription)
        self._executor.wake()

    def run(self, job: Callable[[], None]) -> None:
        """Call `job` in the thread, between two callbacks."""
        self._executor.create_task(job)

    def count(self) -> None:
        """Count a callback: callbacks call this themselves, since executors do not say how many they ran."""
        self._calls += 1
        if self._calls == self._last_call:
            self._turn.set_result(None)

    def drain(self, limit: int) -> bool:
        """Run at most `limit` callbacks that are ready now; return whether there were as many.

        Only in the thread, or after it ended.
        """
        self._last_call = self._calls + limit
        while (before := self._calls) < self._last_call:
            # In one turn if the executor can: between two, another busy thread gets the interpreter.
            self._turn = Future()
            _log_errors(self._node, self._executor.spin_until_future_complete, self._turn, timeout_sec=0.0)
            if self._calls == before:
                return False
        return True

    def close(self, limit: int, patience: float | None = None) -> bool:
        """End the thread, then run at most `limit` callbacks that are ready, for `patience` seconds.

        Return whether that was time enough; a second call does nothing.
        """
        if self.closing.is_set():
            return True
        self.closing.set()
        self.run(lambda: None)  # ends the turn
        self._thread.join()
        ends = math.inf if patience is None else time.monotonic() + patience
        count = 0
        while (in_time := time.monotonic() < ends) and count < limit and self.drain(min(_LAST, limit - count)):
            count += _LAST
        self._executor.shutdown()
        return in_time

    def _run(self) -> None:
        while not self.closing.is_set() and self._node.context.ok():
            spin_once(self._executor, self._node, _TURN)
            self._after()


class OwnThreadGroup(ReentrantCallbackGroup):
    """Mark the entities of a `CallbackThread`."""


class ThreadedNode(LifecycleNode):
    """A node whose executor skips the entities of a `CallbackThread`."""

    @property
    def subscriptions(self) -> Iterator[Any]:
        """Subscriptions for the executor of the node."""
        return (entity for entity in super().subscriptions if not isinstance(entity.callback_group, OwnThreadGroup))

    @property
    def services(self) -> Iterator[Any]:
        """Services for the executor of the node."""
        return (entity for entity in super().services if not isinstance(entity.callback_group, OwnThreadGroup))


class _Part:
    """Stand-in for a node that shows an executor some of its services and subscriptions."""

    timers = clients = guards = waitables = ()
    executor: Executor | None = None

    def __init__(self, node: Node) -> None:
        self.services: tuple[Service[Any, Any], ...] = ()
        self.subscriptions: tuple[Subscription[Any], ...] = ()
        self.get_logger = node.get_logger
