"""`robotmem status`: what a memory holds."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from .database import opened
from .options import add_database, add_json


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("status", help="what a memory holds", description="What a memory holds.")
    add_database(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the status.

    Raises:
        RobotMemoryError: the database cannot be used.
    """
    with opened(arguments.db, read_only=True) as memory:
        status = memory.status()
    # How the memory would be asked is no property of the file.
    told = {
        entry.name: getattr(status, entry.name)
        for entry in dataclasses.fields(status)
        if entry.name not in {"mode", "reason", "embedding_model"}
    }
    if arguments.json:
        sys.stdout.write(json.dumps(told, indent=2, default=str) + "\n")
    else:
        sys.stdout.write("".join(f"{name.replace('_', ' ')}: {value}\n" for name, value in told.items()))
    return 0
