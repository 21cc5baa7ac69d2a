"""Parse the command line of `robotmem`, run the command and report errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .. import __version__
from ..memory.errors import RobotMemoryError, did_you_mean
from . import changing, fleet, maps, models, reading, replaying, serving, tags, transfer
from .output import prepare_streams, printable, write_notice
from .parser import Parser

_MODULES = (replaying, reading, changing, tags, maps, transfer, fleet, models, serving)
COMMANDS = tuple(command for module in _MODULES for command in module.COMMANDS)
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
    groups = {name: _group(commands, name, about) for name, about in _GROUPS.items()}
    for command in COMMANDS:
        command.add_to(groups.get(command.name.partition(" ")[0], commands))
    words = sys.argv[1:] if arguments is None else arguments
    name = next((word for word in words if not word.startswith("-")), "")
    if name and name not in commands.choices:
        guess = did_you_mean(name, commands.choices)
        parser.error(f"{name!r} is no command{guess}; a command comes first, then its options")
    try:
        options = parser.parse_args(words)
        return int(options.run(options) or 0)
    except RobotMemoryError as error:
        write_notice(f"robotmem: {printable(str(error))}\n")
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        write_notice("robotmem: interrupted\n")
        return _INTERRUPTED


def _group(commands: Any, name: str, about: str) -> Any:
    parser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    return parser.add_subparsers(dest="what", required=True, metavar="WHAT")
