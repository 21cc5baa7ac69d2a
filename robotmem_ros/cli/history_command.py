"""`robotmem history`: what a memory was before it was changed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .database import opened
from .options import add_database, add_json
from .table import table


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser(
        "history", help="what a memory was before", description="The changes of a memory, newest first."
    )
    parser.add_argument("id", type=int, metavar="ID", help="the memory, forgotten or not")
    add_database(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the history.

    Raises:
        RobotMemoryError: there is no such memory, or the database cannot be used.
    """
    with opened(arguments.db, read_only=True) as memory:
        changes = memory.history(arguments.id)
    if arguments.json:
        found = {"id": arguments.id, "changes": [asdict(change) for change in changes]}
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
        return 0
    body = [(change.changed_at[:19], change.change, change.reason, _told(change.before)) for change in changes]
    sys.stdout.write(table(("when (UTC)", "change", "reason", "before"), body) or "never changed\n")
    return 0


def _told(before: Mapping[str, object]) -> str:
    # A text as it is: a context is JSON already.
    values = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in before.values())
    return "; ".join(f"{name}: {value}" for name, value in zip(before, values, strict=True))
