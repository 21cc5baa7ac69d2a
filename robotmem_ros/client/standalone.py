"""Give a client to a program that has no node of its own, such as a script."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from .memory_client import TIMEOUT, MemoryClient


@contextmanager
def standalone(name: str = "memory", *, timeout: float = TIMEOUT) -> Iterator[MemoryClient]:
    """Give a client in a context of ROS and with a node of its own, which end with the block.

    Args:
        name: Name of the memory node.
        timeout: Seconds that a verb waits for its service and the response together.

    Raises:
        InvalidFieldError: the timeout is no number of seconds.
    """
    context = Context()
    rclpy.init(args=[], context=context)
    try:
        node = Node(
            f"memory_client_{os.getpid()}", context=context, use_global_arguments=False, enable_rosout=False,
            start_parameter_services=False,
        )  # fmt: skip
        with MemoryClient(node, name, timeout=timeout) as memory:
            yield memory
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
