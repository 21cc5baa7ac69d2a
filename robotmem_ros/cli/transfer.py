"""Carry memories from one file to another: export, backup, import."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from operator import add
from pathlib import Path

from ..memory.batch import BEGINNING, Applied, Batch, Cursor
from ..memory.errors import InvalidFieldError
from ..memory.fellow_robots import as_of_another, robot_name, uuid_of_another
from ..memory.robot_memory import RobotMemory
from ..memory.storage import map_rows, revisions
from ..memory.storage.feed import changes_since
from ..memory.storage.snapshot import Snapshot
from .command import DATABASE, Command, open_memory
from .export_file import STANDARD, Part, opened_export, opened_import, read_parts
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


def _import(arguments: argparse.Namespace) -> None:
    total = Applied()
    if arguments.robot is not None:  # an empty one must not make memories of another robot own ones
        robot_name("--robot", arguments.robot)
    try:
        with closing(read_parts(arguments.file)) as parts:
            # A file that cannot be read makes no database.
            first = next(parts, None)
            with RobotMemory(arguments.db, embedding_model="", session_maintenance=False) as memory:
                for part in chain(() if first is None else (first,), parts):
                    own_part = _of_another(arguments, memory, part) if arguments.robot is not None else part
                    total = Applied(*map(add, total, _store_part(memory, own_part)))
    except InvalidFieldError as error:
        before = f"what came before it was imported ({total.stored} memories)"
        raise InvalidFieldError(error.field, error.value, f"{error.expected}; {before}") from error
    exceptions = {"were there before": total.known, "stay deleted": total.refused}
    write_result(
        f"imported: {total.stored} memories" + "".join(f", {n} {label}" for label, n in exceptions.items() if n) + "\n"
    )


def _of_another(arguments: argparse.Namespace, memory: RobotMemory, part: Part) -> Batch:
    name = arguments.robot
    if not isinstance(part, Batch):
        return Batch(name, "", 0, 0)  # its path
    with memory.parts.database.snapshot() as snapshot:
        own = revisions.robot(snapshot)
    if part.robot == own:
        problem = f"is no other robot: {arguments.file} is an export of {memory.path}; import it without --robot"
        raise InvalidFieldError("--robot", name, problem)
    # What the other robot has from this one stays this one's.
    rows = (as_of_another(name, row) for row in part.rows if row["robot"] != own)
    deleted = tuple(uuid_of_another(name, uuid) for uuid in part.deleted)
    return replace(part, rows=tuple(row for row in rows if row is not None), deleted=deleted)


def _store_part(memory: RobotMemory, part: Part) -> Applied:
    if isinstance(part, Batch):
        return memory.apply(part)
    for piece in part:
        memory.maps.store_path(piece).result()
    return Applied()


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
    Command(
        "import", "store what was exported",
        "Store the memories, sessions, maps and the path of an export. What is there in the same or a newer version "
        "stays, so an import can be repeated; what was deleted here stays deleted. Memories get new ids.", _import,
        (
            option("file", type=Path, metavar="FILE.jsonl", help="file that an export made; - for a pipe"),
            option(
                "--robot", metavar="NAME",
                help="store what another robot of this name knows, as the fleet would bring it",
            ),
            DATABASE,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
