"""Carry memories from one file to another: export, backup, import."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from operator import add
from pathlib import Path
from typing import Any

from ..memory.batch import BEGINNING, Applied, Batch, Cursor
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, did_you_mean
from ..memory.fellow_robots import as_of_another, robot_name, uuid_of_another
from ..memory.models import ImportKey, NewMemory, Recording
from ..memory.robot_memory import RobotMemory
from ..memory.storage import map_rows, revisions
from ..memory.storage.feed import changes_since
from ..memory.storage.snapshot import Snapshot
from .command import DATABASE, Command, open_memory
from .export_file import STANDARD, Part, opened_export, opened_import, read_parts
from .listing import option
from .other_files import FORMATS
from .other_memories import FIELDS, Reader, Row
from .output import printable, write_notice, write_result

_POINTS = 500
"""Points of the path in one line."""
_CHANGES = 256
"""Changes in one batch, at least."""
_ROWS = 256
"""Memories of another memory that are stored together."""
_PROBLEM = "problem"
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


def _import(arguments: argparse.Namespace) -> int:
    return _import_others(arguments) if arguments.format else _import_export(arguments)


def _import_export(arguments: argparse.Namespace) -> int:
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
        is_foreign = error.field.startswith("line 1 of")
        hint = "; what other memories wrote is imported with --from" if is_foreign else ""
        raise InvalidFieldError(error.field, error.value, f"{error.expected}{hint}; {before}") from error
    exceptions = {"were there before": total.known, "stay deleted": total.refused}
    write_result(
        f"imported: {total.stored} memories" + "".join(f", {n} {label}" for label, n in exceptions.items() if n) + "\n"
    )
    return 0


def _import_others(arguments: argparse.Namespace) -> int:
    reader = Reader(arguments.file, dict(arguments.key), time.time_ns())
    outcome = Counter[str]()
    rows = _usable(reader.rows(arguments.format), outcome)
    # A file of which nothing can be used makes no database.
    if (first := next(rows, None)) is not None:
        options: dict[str, Any] = {"embedding_model": ""} if arguments.no_model else {}
        collection = arguments.collection or Parameters().collection
        with RobotMemory(arguments.db, collection, session_maintenance=False, source="import", **options) as memory:
            # The collection is the topic: rows may be imported once into each.
            import_id = memory.imports.begin(Recording("other memories", collection, "", str(arguments.file)))
            remaining = chain((first,), rows)
            while some := [*islice(remaining, _ROWS)]:
                _store_rows(memory, import_id, some, outcome)
            memory.flush()
    write_result(_told(reader, outcome))
    return 1 if outcome[_PROBLEM] else 0


def _usable(rows: Iterable[Row | InvalidFieldError], outcome: Counter[str]) -> Iterator[Row]:
    for row in rows:
        if isinstance(row, Row):
            yield row
        else:
            _report(row, outcome)


def _report(error: InvalidFieldError, outcome: Counter[str]) -> None:
    write_notice(f"robotmem: {printable(str(error))}\n")
    outcome[_PROBLEM] += 1


def _store_rows(memory: RobotMemory, import_id: int, rows: Sequence[Row], outcome: Counter[str]) -> None:
    pairs = [(row, new) for row in rows if (new := _checked(memory, import_id, row, outcome)) is not None]
    for (row, _), stored in zip(pairs, memory.store_many(new for _, new in pairs), strict=True):
        outcome["before" if not stored.memory_id else "new" if stored.is_new else "again"] += 1
        if row.tags and stored.memory_id:
            memory.update(stored.memory_id, add_tags=row.tags, reason="import")


def _checked(memory: RobotMemory, import_id: int, row: Row, outcome: Counter[str]) -> NewMemory | None:
    try:
        return replace(memory.checked(row.request), import_key=ImportKey(import_id, *row.digest, 0))
    except InvalidFieldError as error:
        _report(row.named(error), outcome)
        return None


def _told(reader: Reader, outcome: Counter[str]) -> str:
    """Tell what was imported, and what became of each key of the file."""
    text = f"imported: {outcome['new']} memories"
    text += f", {outcome['again']} learned or seen again" if outcome["again"] else ""
    text += f", {outcome['before']} were imported before" if outcome["before"] else ""
    keys = {
        "read": [key if key == field else f"{key} as {field}" for key, field in reader.read_as.items()],
        "kept in the context": [f"{key} ({rows:,})" for key, rows in reader.kept.items()],
        "left out, vectors of another model": [f"{key} ({rows:,})" for key, rows in reader.left_out.items()],
        "not understood": [f"{outcome[_PROBLEM]:,}, told above; mended, import the file again"] * (_PROBLEM in outcome),
    }
    return text + "\n" + "".join(f"{label}: {', '.join(names)}\n" for label, names in keys.items() if names)


def _key(text: str) -> tuple[str, str]:
    key, _, field = text.rpartition("=")
    if not key or field not in FIELDS:
        guess = did_you_mean(field, FIELDS)
        raise argparse.ArgumentTypeError(f"{text!r} is no KEY=FIELD{guess}; fields are {', '.join(FIELDS)}")
    return key, field


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
        "import", "store what was exported, or what other memories wrote",
        "Store the memories, sessions, maps and the path of an export. What is there in the same or a newer version "
        "stays, so an import can be repeated; what was deleted here stays deleted. Memories get new ids. With --from, "
        "learn the facts and save the perceptions of another memory, each once; what cannot be understood is told, and "
        "keys that are unknown are kept in the context.", _import,
        (
            option("file", type=Path, metavar="FILE", help="file that an export or another memory made; - for a pipe"),
            (
                option(
                    "--robot", metavar="NAME",
                    help="store what another robot of this name knows, as the fleet would bring it",
                ),
                option(
                    "--from", dest="format", choices=FORMATS,
                    help="format of a file that another memory wrote: JSON lines or a list, CSV with a head, the "
                    "memory.jsonl of the MCP memory server, or named places in YAML or CSV",
                ),
            ),
            option(
                "--key", action="append", type=_key, default=[], metavar="KEY=FIELD",
                help="with --from: field as which to read a key or column of the file; may be given several times",
            ),
            option("--collection", help="with --from: namespace of memories that name none"),
            option("--no-model", action="store_true", help="with --from: store without vectors, compare no meanings"),
            DATABASE,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
