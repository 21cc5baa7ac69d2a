"""`robotmem data`: what was stored with a perception and recall does not give."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ..memory import PerceptionData
from ..memory.errors import MemoryNotFoundError, RobotMemoryError
from .database import opened
from .options import add_database, add_json


class UnwritableError(RobotMemoryError):
    """The data cannot be written where it was wanted."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"--out: {str(path)!r} cannot be written ({why}); give the path of another file")


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser(
        "data",
        help="the raw data of a perception",
        description="The metadata of a perception, and with --out its raw data or thumbnail.",
    )
    parser.add_argument("id", type=int, metavar="ID", help="the memory")
    add_database(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the data there")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the data, and what it is.

    Raises:
        RobotMemoryError: there is no such memory or no data, or the database or the output cannot be used.
    """
    with opened(arguments.db) as memory:
        found = memory.data(arguments.id)
    if arguments.out is not None:
        _write(arguments.out, found)
    fields = {
        "id": found.memory_id, "perception_type": found.perception_type, "bytes": len(found.data),
        "data_format": found.data_format, "metadata": found.metadata,
    }  # fmt: skip
    if arguments.json:
        sys.stdout.write(json.dumps(fields, ensure_ascii=False, indent=2) + "\n")
        return 0
    sys.stdout.write(f"{found.perception_type}, {len(found.data):,} bytes of {found.data_format or 'unknown format'}\n")
    sys.stdout.write(f"metadata: {found.metadata_json}\n")
    return 0


def _write(path: Path, found: PerceptionData) -> None:
    if not found.data:
        raise MemoryNotFoundError(found.memory_id, "it has metadata and no data")
    try:
        path.write_bytes(found.data)
    except OSError as cause:
        raise UnwritableError(path, cause.strerror or str(cause)) from cause
