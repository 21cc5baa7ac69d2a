"""Waits for some entities of a node apart from its executor.

rclpy's executor looks at every entity of the node in each of its turns: that costs more than all else that is done with
a request or a small message. Here nothing is looked at but what is waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription

_WITHOUT_END = -1


class OwnWaitSet:
    """Waits for requests and messages, in one thread, until one has come or `wake` is called."""

    def __init__(
        self,
        node: Node,
        *,
        services: Sequence[Service[Any, Any]] = (),
        subscriptions: Sequence[Subscription[Any]] = (),
    ) -> None:
        self._node = node
        self._services = services
        self._subscriptions = subscriptions
        # Events of a subscription cannot be left to the executor: the rmw wakes who waits for them for messages too.
        self._events = [event for subscription in subscriptions for event in subscription.event_handlers]
        self._wake = node.create_guard_condition(unused, callback_group=NotByExecutor())
        self._set = rclpy_implementation.WaitSet(
            len(subscriptions), 1, 0, 0, len(services), len(self._events), node.context.handle
        )

    def wait(self) -> Collection[int]:
        """Waits, runs the callbacks of events, and gives the pointers of the handles of services with a request."""
        self._set.clear_entities()
        self._set.add_guard_condition(self._wake.handle)
        for service in self._services:
            self._set.add_service(service.handle)
        for subscription in self._subscriptions:
            self._set.add_subscription(subscription.handle)
        for event in self._events:
            event.add_to_wait_set(self._set)
        self._set.wait(_WITHOUT_END)
        for event in self._events:
            if event.is_ready(self._set):
                event.callback(event.take_data())
        ready: Collection[int] = self._set.get_ready_entities("service")
        return ready

    def wake(self) -> None:
        """Ends the wait; from any thread."""
        self._wake.trigger()

    def close(self) -> None:
        """To be called when nobody waits any more."""
        self._node.destroy_guard_condition(self._wake)


class NotByExecutor(CallbackGroup):
    """The node's executor leaves alone what is in such a group."""

    def can_execute(self, entity: object) -> bool:  # noqa: D102 (as rclpy has it)
        return False

    def beginning_execution(self, entity: object) -> bool:  # noqa: D102
        return False

    def ending_execution(self, entity: object) -> None:  # noqa: D102
        pass


def unused(*_: object) -> None:
    """The callback of what the executor leaves alone."""
    raise AssertionError("the executor has run what is not its own")
