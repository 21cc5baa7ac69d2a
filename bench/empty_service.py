"""A service of type Recall that does nothing: the floor of what any rclpy service costs. Ends on SIGINT."""

from __future__ import annotations

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from robotmem_ros.srv import Recall


def main() -> None:
    """Answers until it is interrupted."""
    rclpy.init()
    node = rclpy.create_node("empty")
    node.create_service(Recall, "~/answer", _answer)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.5)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    rclpy.try_shutdown()


def _answer(request: Recall.Request, response: Recall.Response) -> Recall.Response:
    response.success = True
    return response


if __name__ == "__main__":
    main()
