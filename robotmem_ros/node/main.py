"""The executable `memory_node`: one memory node in one process, until SIGINT or SIGTERM."""

from __future__ import annotations

import signal
import sys
import traceback
from types import FrameType

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from ..memory.errors import RobotMemoryError
from .memory_node import MemoryNode

_TURN = 0.2
_UNUSABLE = (
    RobotMemoryError,
    ParameterException,
    rclpy_implementation.RCLError,
    rclpy_implementation.UnknownROSArgsError,
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the node; the exit code is 0 after a signal, 1 if the node cannot be made."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        # Not rclpy's handlers: those end the context at once, before the node could commit and say so.
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        node = MemoryNode()
    except _UNUSABLE as error:
        print(f"memory_node: {error}", file=sys.stderr)
        try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    if node.parameters.autostart:
        _bring_up(node)
    while not stopping and rclpy.ok():
        _turn(executor, node)
    node.trigger_shutdown()
    node.close()
    executor.shutdown()
    node.destroy_node()
    try_shutdown()
    return 0


def _bring_up(node: MemoryNode) -> None:
    if node.trigger_configure().name == "SUCCESS":
        node.trigger_activate()


def _turn(executor: SingleThreadedExecutor, node: MemoryNode) -> None:
    # A bounded turn: spin() can miss a signal, and an exception out of one callback must not end the node.
    try:
        executor.spin_once(timeout_sec=_TURN)
    except ExternalShutdownException:
        return
    except Exception:
        node.get_logger().error(f"a callback failed:\n{traceback.format_exc()}")
