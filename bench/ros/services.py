"""Serve Recall from a bare rclpy node, to compare with: what any service costs, and what the least recall costs.

    python3 -m bench.ros.services empty
    python3 -m bench.ros.services least DATABASE MODEL

`empty` does nothing. `least` calls the core in its callback: it serves one request at a time and blocks all others,
which no node could do. Both end on SIGINT.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from robotmem_ros.srv import Recall


def main(name: str, *arguments: str) -> None:
    """Serve until interrupted."""
    if name == "empty":
        _serve(name, lambda response, request: None)
        return
    # Imported here: the empty service is to have nothing around it.
    from robotmem_ros.memory import RobotMemory
    from robotmem_ros.messages.fields import fields_of
    from robotmem_ros.messages.responses import fill_found
    from robotmem_ros.node.services import recall

    database, model = arguments[:2]
    with RobotMemory(database, embedding_model=model) as memory:
        memory.warm_up()

        def fill(response: Recall.Response, request: Recall.Request) -> None:
            query = fields_of(request, but={"result_frame"})
            fill_found(response, recall(memory, **query))

        _serve(name, fill)


def _serve(name: str, fill: Callable[[Any, Any], None]) -> None:
    def respond(request: Recall.Request, response: Recall.Response) -> Recall.Response:
        fill(response, request)
        response.success = True
        return response

    rclpy.init()
    node = rclpy.create_node(name)
    node.create_service(Recall, "~/recall", respond)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.5)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    rclpy.try_shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
