"""The command that stores what another memory exported: import."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from itertools import chain
from operator import add
from pathlib import Path

from ..memory.batch import Applied, Batch
from ..memory.fellow_robots import as_of_another, robot_name
from ..memory.robot_memory import RobotMemory
from .command import DATABASE, Command, option
from .export_file import Part, read_parts
from .output import write_result


def _import(arguments: argparse.Namespace) -> None:
    total = Applied()
    if arguments.robot:
        robot_name("--robot", arguments.robot)
    with closing(read_parts(arguments.file)) as parts:
        # A file that cannot be read makes no database.
        first = next(parts, None)
        with RobotMemory(arguments.db, embedding_model="", session_maintenance=False) as memory:
            for part in chain(() if first is None else (first,), parts):
                own_part = _of_another(arguments.robot, part) if arguments.robot else part
                total = Applied(*map(add, total, _store_part(memory, own_part)))
    exceptions = {"were there before": total.known, "stay deleted": total.refused}
    write_result(
        f"imported: {total.stored} memories" + "".join(f", {n} {label}" for label, n in exceptions.items() if n) + "\n"
    )


def _of_another(robot: str, part: Part) -> Batch:
    if not isinstance(part, Batch):
        return Batch(robot, "", 0, 0)  # its path
    rows = (as_of_another(robot, row) for row in part.rows)
    return replace(part, rows=tuple(row for row in rows if row is not None))


def _store_part(memory: RobotMemory, part: Part) -> Applied:
    if isinstance(part, Batch):
        return memory.apply(part)
    for piece in part:
        memory.maps.store_path(piece).result()
    return Applied()


COMMANDS = (
    Command(
        "import", "store what was exported",
        "Store the memories, sessions, maps and the path of an export. What is there in the same or a newer version "
        "stays, so an import can be repeated; what was deleted here stays deleted. Memories get new ids.", _import,
        (
            option("file", type=Path, metavar="FILE.jsonl", help="file that an export made; - for a pipe"),
            option(
                "--robot", default="", metavar="NAME",
                help="store what another robot of this name knows, as the fleet would bring it",
            ),
            DATABASE,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
