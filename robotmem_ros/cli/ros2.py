"""Extend ros2cli by `ros2 memory`: the commands of `robotmem` that a node serves.

ros2cli finds it by the entry point `ros2cli.command`. Nothing of ros2cli is imported, so the entry point does no harm
where that is missing.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from .command import Command, within
from .listing import CommandError, Option, option
from .main import COMMANDS, add_commands, reported
from .output import prepare_streams
from .parser import Parser

_OF_FILES = {"--db", "--no-model", "--fleet-url", "--areas-file"}
"""Options that say which file to open, and how."""
_OF_THE_FILE = {"sessions.latest", "objects", "recalls", "notes.lines", "maps.path"}
"""Verbs of commands that no service has."""
_TIMEOUT = 10.0
_OF_THE_NODE = (
    option("--node", default="memory", metavar="NAME", help="name of the memory node; default: /%(default)s"),
    option(
        "--timeout", type=within(0.0, 86_400.0), default=_TIMEOUT, metavar="SECONDS",
        help="how long to wait for the node and its response; default: %(default)s",
    ),
)  # fmt: skip


def _on_the_node(command: Command) -> Command:
    options = (entry for entry in command.options if not (isinstance(entry, Option) and entry.names[0] in _OF_FILES))
    return command._replace(options=(*options, *_OF_THE_NODE))


NODE_COMMANDS = tuple(
    _on_the_node(command) for command in COMMANDS if command.verb and command.verb not in _OF_THE_FILE
)
"""Commands on the memory of a node, in the order in which help lists them."""


class MemoryCommand:
    """Query, change and examine the memory of a robotmem_ros node."""

    NAME = "memory"
    EXTENSION_POINT_VERSION = "0.1"

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Add the commands to the parser of `ros2 memory`."""
        commands = parser.add_subparsers(
            title="Commands", dest="memory_command", required=True, metavar="COMMAND", parser_class=Parser
        )
        add_commands(commands, NODE_COMMANDS)

    def main(self, *, parser: object, args: argparse.Namespace) -> int:
        """Run the command that was parsed, and return its exit code."""
        prepare_streams()
        return reported(partial(_run, args))


def _run(arguments: Any) -> int:
    try:
        from ..client.standalone import standalone
    except ImportError as cause:
        problem = f"ros2 memory needs {cause.name}: source the setup files of ROS 2 and of robotmem_ros"
        raise CommandError(problem) from cause
    command: Command = arguments.called
    # A client has the verbs of a memory, and the same results.
    work: Any = command.work
    with standalone(arguments.node, timeout=arguments.timeout) as memory:
        shown = work(memory, arguments)
    return command.show(arguments, shown)
