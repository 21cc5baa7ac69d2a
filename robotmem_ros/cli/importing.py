"""The command that stores what another memory exported: import."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from itertools import chain
from operator import add
from pathlib import Path

from ..memory.batch import Applied, Batch
from ..memory.errors import InvalidFieldError
from ..memory.fellow_robots import as_of_another, robot_name, uuid_of_another
from ..memory.robot_memory import RobotMemory
from ..memory.storage import revisions
from .command import DATABASE, Command
from .export_file import Part, read_parts
from .listing import option
from .output import write_result


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
