"""The command `robotmem` and its commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import (
    consolidate_command,
    data_command,
    explain_command,
    history_command,
    purge_command,
    recall_command,
    replay_command,
    restore_command,
    retention_command,
    sessions_command,
    status_command,
    transfer_commands,
)
from .running import run

_COMMANDS = (
    replay_command,
    recall_command,
    status_command,
    sessions_command,
    consolidate_command,
    data_command,
    explain_command,
    history_command,
    restore_command,
    retention_command,
    purge_command,
    transfer_commands,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; 0 when it did what was asked, 1 when something is wrong, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="robotmem", description="A memory that lasts, for robots.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.add_to(commands)
    return run(parser, arguments)
