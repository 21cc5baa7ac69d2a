"""The executable `memory_node`: run one memory node in one process until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from ..memory.embedding.embedder import MODEL_THREAD
from ..memory.errors import RobotMemoryError, shown
from .executors import new_executor, spin_once
from .memory_node import MemoryNode
from .parameters import parameter_files

_PACKAGE = __name__.partition(".")[0]


@contextmanager
def bridged(node: Node) -> Iterator[None]:
    """Log everything of this package through the logger of a node, from its level on, instead of to stderr."""
    logger = logging.getLogger(_PACKAGE)
    before = logger.level, logger.propagate
    handler = _Bridge(node)
    logger.addHandler(handler)
    # The levels of both have the same numbers. What is below costs its caller next to nothing.
    logger.setLevel(int(node.get_logger().get_effective_level()))
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


class _Bridge(logging.Handler):
    def __init__(self, node: Node) -> None:
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        message = self.format(record)
        # A line for each level: rclpy does not let one line of code log with two of them.
        if record.levelno >= logging.CRITICAL:
            self._logger.fatal(message)
        elif record.levelno >= logging.ERROR:
            self._logger.error(message)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(message)
        elif record.levelno >= logging.INFO:
            self._logger.info(message)
        else:
            self._logger.debug(message)


_TURN = 0.2
_EXAMPLES = """parameters and names are given as ROS arguments:
  memory_node --ros-args -p db_path:=/data/memory.db
  memory_node --ros-args --params-file memory.yaml -r __ns:=/robot1 --log-level memory:=debug

config/memory.yaml lists all parameters. Without any, the memory is ~/.robotmem/memory.db, and in a
namespace such as /robot1 ~/.robotmem/robot1/memory.db.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the node; the exit code is 0 after a signal, 1 if the node cannot be made, 2 for wrong arguments."""
    argv = sys.argv if arguments is None else arguments
    parser = _parser()
    _, unknown = parser.parse_known_args(_not_for_ros(argv))
    if unknown:
        parser.error(f"unknown arguments: {' '.join(unknown)}; parameters and other ROS arguments follow --ros-args")
    for path in parameter_files(argv):
        if not path.is_file():
            print(f"memory_node: --params-file: there is no file {shown(path)}", file=sys.stderr)
            return 1
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    _handle_signals(stop)
    try:
        # Not rclpy's handlers: those end the context at once, before the node could commit and say so.
        rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
        node = MemoryNode()
    except (RobotMemoryError, ParameterException, RuntimeError) as error:
        if type(error).__name__ == "UnknownROSArgsError":  # rclpy does not export the class
            parser.error(f"unknown ROS arguments: {error}")
        print(f"memory_node: {error}", file=sys.stderr)
        try_shutdown()
        return 1
    with bridged(node):
        executor = new_executor(node)
        executor.add_node(node)
        if node.parameters.autostart:
            _bring_up(node)
        else:
            node.tell_waiting("configure")
        while not stopping and rclpy.ok():
            spin_once(executor, node, _TURN)
        node.shut_down()
        executor.shutdown()
    node.destroy_node()
    try_shutdown()
    if any(thread.name == MODEL_THREAD for thread in threading.enumerate()):
        # A model may be loaded for minutes, and Python would wait for that.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    # As it ends, Python puts the default handlers back, with which a second signal would give another exit code.
    _handle_signals(signal.SIG_IGN)
    return 0


def _handle_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="memory_node",
        usage="%(prog)s [-h] [--ros-args ...]",
        description="Runs the memory node until SIGINT or SIGTERM.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _not_for_ros(arguments: list[str]) -> list[str]:
    # Not by rclpy, which takes a bare `name:=value` for a remapping of old.
    own_arguments, is_for_ros = [], False
    for argument in arguments[1:]:
        if argument == "--ros-args":
            is_for_ros = True
        elif is_for_ros:
            is_for_ros = argument != "--"
        else:
            own_arguments.append(argument)
    return own_arguments


def _bring_up(node: MemoryNode) -> None:
    if node.trigger_configure().name == "SUCCESS":
        node.trigger_activate()
