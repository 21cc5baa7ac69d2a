"""`robotmem restore`: brings back what was forgotten."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .database import opened
from .options import add_database, add_json


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser(
        "restore", help="bring back what was forgotten", description="Brings back forgotten or superseded memories."
    )
    parser.add_argument("id", type=int, nargs="+", metavar="ID", help="the memories")
    add_database(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Restores one after the other, up to the first that cannot be.

    Raises:
        RobotMemoryError: a memory cannot be restored, or the database cannot be used.
    """
    with opened(arguments.db) as memory:
        for memory_id in arguments.id:
            memory.restore(memory_id)
            if not arguments.json:
                sys.stdout.write(f"restored: {memory_id}\n")
    if arguments.json:
        sys.stdout.write(json.dumps({"restored": arguments.id}, indent=2) + "\n")
    return 0
