"""One service on one thread, with nothing around it: what any rclpy service costs."""

from __future__ import annotations

from collections.abc import Callable

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from robotmem_ros.srv import Recall


def serve(name: str, answer: Callable[[Recall.Request, Recall.Response], Recall.Response]) -> None:
    """Answers on `/<name>/answer` until it is interrupted (SIGINT)."""
    rclpy.init()
    node = rclpy.create_node(name)
    node.create_service(Recall, "~/answer", answer)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.5)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    rclpy.try_shutdown()
