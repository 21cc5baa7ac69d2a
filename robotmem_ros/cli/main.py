"""The command `robotmem`: its commands, and how it ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..memory.errors import RobotMemoryError
from . import (
    consolidate_command,
    explain_command,
    history_command,
    purge_command,
    recall_command,
    replay_command,
    restore_command,
    retention_command,
    sessions_command,
    status_command,
)

_INTERRUPTED = 130
_COMMANDS = (
    replay_command,
    recall_command,
    status_command,
    sessions_command,
    consolidate_command,
    explain_command,
    history_command,
    restore_command,
    retention_command,
    purge_command,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; 0 when it did what was asked, 1 when something is wrong, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="robotmem", description="A memory that lasts, for robots.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.add_to(commands)
    return run(parser, arguments)


def run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Runs what the arguments chose; errors of ours are said in one line."""
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except RobotMemoryError as error:
        sys.stderr.write(f"robotmem: {error}\n")
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("robotmem: interrupted\n")
        return _INTERRUPTED
