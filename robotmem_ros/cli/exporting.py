"""Commands that write what a memory holds into another file: export, backup."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..memory.batch import BEGINNING, Cursor
from ..memory.errors import InvalidFieldError
from ..memory.storage import map_rows
from ..memory.storage.feed import changes_since
from ..memory.storage.snapshot import Snapshot
from .command import DATABASE, Command, open_memory
from .export_file import STANDARD, opened_export, opened_import
from .listing import option
from .output import write_notice, write_result

_POINTS = 500
"""Points of the path in one line."""
_CHANGES = 256
"""Changes in one batch, at least."""
_MEMORY_LINES = '{"unit": "memory"'
"""Beginning of lines that hold a memory."""


def _export(arguments: argparse.Namespace) -> None:
    count = 0
    start = BEGINNING if arguments.since is None else _end_of(arguments.since)
    with (
        open_memory(arguments.db, read_only=True) as memory,
        memory.parts.database.snapshot() as snapshot,
        opened_export(arguments.file) as write,
    ):
        # Points of the path have no revision.
        for line in chain(_batch_lines(snapshot, start), _path_lines(snapshot) if arguments.since is None else ()):
            write(f"{line}\n")
            count += line.startswith(_MEMORY_LINES)
    (write_notice if arguments.file == STANDARD else write_result)(f"exported: {count} memories\n")


def _backup(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True) as memory:
        copy = memory.backup(arguments.file)
        memories = memory.status().memories
    write_result(f"copied: {memories} memories into {copy}\n")


def _batch_lines(snapshot: Snapshot, cursor: Cursor) -> Iterator[str]:
    while batch := changes_since(snapshot, cursor, _CHANGES):
        yield from batch.lines()
        cursor = batch.cursor
    yield json.dumps({"end": cursor.revision, "epoch": cursor.epoch})


def _end_of(path: Path) -> Cursor:
    """Return up to where an export has its file."""
    with opened_import(path) as lines:
        ends = [line for line in lines if line.startswith('{"end": ')]
    try:
        end = json.loads(ends[-1])
        return Cursor(str(end["epoch"]), int(end["end"]))
    except (LookupError, TypeError, ValueError) as cause:
        raise InvalidFieldError("--since", path, "is no whole export") from cause


def _path_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield the path as JSON, many points a line."""
    points = map_rows.path_points(snapshot)
    for start in range(0, len(points), _POINTS):
        yield json.dumps({"type": "path", "points": points[start : start + _POINTS]}, ensure_ascii=False)


COMMANDS = (
    Command(
        "export", "write all that a file holds as JSON lines",
        "Write all memories of a file as JSON lines, with their sightings and history, the sessions, the maps and the "
        "path of the robot; compressed if the name ends in .gz.", _export,
        (
            option("file", type=Path, metavar="FILE.jsonl", help="new file of JSON lines; - for a pipe"),
            option(
                "--since", type=Path, metavar="EARLIER.jsonl",
                help="write only what changed since that export, without the path",
            ),
            DATABASE,
        ),
    ),
    Command(
        "backup", "copy a memory while it is in use",
        "Copy a memory into a new file, with all that is in its log, also while a node writes.", _backup,
        (option("file", type=Path, metavar="FILE.db", help="the copy, a new file"), DATABASE),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
