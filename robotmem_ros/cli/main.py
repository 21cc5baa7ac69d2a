"""Parse the command line of `robotmem`, run the command and report errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..memory.errors import RobotMemoryError
from . import changing, maps, reading, replaying, scanning, serving, transfer
from .command import printable

_MODULES = (replaying, reading, scanning, changing, maps, transfer, serving)
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 on success, 1 on errors, 2 on wrong arguments, 130 if interrupted."""
    parser = argparse.ArgumentParser(prog="robotmem", description="A memory that lasts, for robots.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (command for module in _MODULES for command in module.COMMANDS):
        command.add_to(commands)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen) or 0)
    except RobotMemoryError as error:
        sys.stderr.write(f"robotmem: {printable(str(error))}\n")
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("robotmem: interrupted\n")
        return _INTERRUPTED
