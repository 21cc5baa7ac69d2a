"""Parse the command line of `robotmem`, run the command and report errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from .. import __version__
from ..memory.errors import RobotMemoryError, did_you_mean
from ..memory.verbs.table import VERBS
from . import changing, fleet, maps, models, reading, replaying, serving, transfer
from .command import Command, of_verb
from .output import prepare_streams, printable, write_notice
from .parser import Parser

_MODULES = (replaying, reading, changing, maps, transfer, fleet, models, serving)
_LEFT_OUT = frozenset({"density", "events", "object_history", "purge", "sessions.end", "sessions.start"})
"""Verbs that have no command, or one of their own."""
_ROWS = tuple(command for module in _MODULES for command in module.COMMANDS)
COMMANDS = (
    *_ROWS,
    *(of_verb(path) for path in VERBS if path not in _LEFT_OUT.union(command.verb for command in _ROWS)),
)
"""All commands, in the order in which help lists them."""
_GROUPS = {
    "tag": "list, add, rename or remove tags",
    "map": "list, import or export occupancy grids",
    "model": "list, fetch or measure embedding models, or change that of a memory",
}
"""Commands that are followed by another one, with a line about each for help."""
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 on success, 1 on errors, 2 on wrong arguments, 130 if interrupted."""
    prepare_streams()
    parser = Parser(prog="robotmem", description="A memory that lasts, for robots.")
    parser.add_argument("--version", action="version", version=f"robotmem {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_commands(commands, COMMANDS)
    _complete(parser)
    words = sys.argv[1:] if arguments is None else arguments
    name = next((word for word in words if not word.startswith("-")), "")
    if name and name not in commands.choices:
        guess = did_you_mean(name, commands.choices)
        parser.error(f"{name!r} is no command{guess}; a command comes first, then its options")

    def run() -> int | None:
        options = parser.parse_args(words)  # `--help` may fail too, on a full disk
        exit_code: int | None = options.run(options)
        return exit_code

    return reported(run)


def add_commands(parsers: Any, commands: Iterable[Command]) -> None:
    """Add the parsers of commands, those of a group below that of the group."""
    groups: dict[str, Any] = {}
    for command in commands:
        group = command.name.rpartition(" ")[0]
        if group and group not in groups:
            groups[group] = _group(parsers, group, _GROUPS[group])
        command.add_to(groups.get(group, parsers))


def reported(run: Callable[[], int | None]) -> int:
    """Run a command, report its errors, and return the exit code."""
    try:
        return int(run() or 0)
    except RobotMemoryError as error:
        write_notice(f"robotmem: {printable(str(error))}\n")
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        write_notice("robotmem: interrupted\n")
        return _INTERRUPTED


def _complete(parser: argparse.ArgumentParser) -> None:
    """Tell a shell how its line goes on, if it is a shell that asks: argcomplete then ends the program."""
    if "_ARGCOMPLETE" in os.environ:
        with suppress(ImportError):
            import argcomplete

            argcomplete.autocomplete(parser, exclude=["-h", "--help"])


def _group(commands: Any, name: str, about: str) -> Any:
    parser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    return parser.add_subparsers(dest="what", required=True, metavar="WHAT")
