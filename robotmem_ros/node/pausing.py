"""Subscriptions that can wait: while they do, messages stay with the middleware and the executor does other things."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node


class PausingGroup(MutuallyExclusiveCallbackGroup):
    """Leaves its subscriptions out of what the executor waits for while `holds` is true; then `wake` has to be called.

    The middleware keeps as many messages as the history of the subscription is deep.
    """

    def __init__(self, holds: Callable[[], bool]) -> None:
        super().__init__()
        self.holds = holds

    def can_execute(self, entity: Any) -> bool:
        """Asked by the executor, each time before it waits."""
        return not self.holds() and bool(super().can_execute(entity))


def wake(node: Node) -> None:
    """Lets the executor of a node look anew at what it waits for; from any thread."""
    executor = node.executor
    if executor is not None:
        # Any rclpy has this; it does nothing but to wake.
        executor.create_task(lambda: None)
