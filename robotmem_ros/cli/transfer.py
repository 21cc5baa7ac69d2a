"""Carry memories from one file to another, also from before the first release: export, import."""

from __future__ import annotations

import argparse
import base64
import json
import zlib
from collections.abc import Callable, Generator, Iterator, Set
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from gzip import GzipFile
from itertools import chain, groupby, islice
from operator import add
from pathlib import Path
from typing import Any

from ..memory.batch import BEGINNING, Applied, Batch, Cursor, opened_lines
from ..memory.errors import InvalidFieldError
from ..memory.fellow_robots import as_of_another, robot_name
from ..memory.maps import Move, OccupancyGrid, PathPart, check_moves
from ..memory.models import Kind, NewMemory, Pose
from ..memory.new_file import new_file
from ..memory.new_memory import LEFT_TO_RULES, source_of
from ..memory.robot_memory import RobotMemory
from ..memory.storage import map_rows, path_rows, rows
from ..memory.storage.feed import changes_since
from ..memory.storage.map_rows import unpack
from ..memory.storage.migrations import exportable, is_before_release
from ..memory.storage.retention_rows import active_ids, whole_rows
from ..memory.storage.snapshot import Snapshot
from ..memory.text.normal_form import tag_key
from ..memory.validation import check_coordinates, compact_json
from .command import DATABASE, Command, existing_path, open_memory, option
from .output import write_notice, write_result

_STANDARD = Path("-")
"""Standard output of an export, standard input of an import."""
_MAP, _PATH = "map", "path"
"""Types of lines that hold no memory."""
_POINTS = 500
"""Points of the path in one line."""
_CHANGES = 256
"""Changes in one batch, at least."""
_MEMORY_LINES = ('{"unit": "memory"', '{"id": ')
"""Beginnings of lines that hold a memory."""


def _export(arguments: argparse.Namespace) -> None:
    count = 0
    start = BEGINNING if arguments.since is None else _end_of(arguments.since)
    with exportable(existing_path(arguments.db)) as snapshot, _opened_export(arguments.file) as write:
        is_old = is_before_release(snapshot)
        if is_old and arguments.since is not None:
            raise InvalidFieldError("--since", arguments.since, "is of another file, which has no revisions")
        lines = _lines_before_release(snapshot) if is_old else _batch_lines(snapshot, start)
        # Points of the path have no revision.
        for line in chain(lines, _place_lines(snapshot) if arguments.since is None else ()):
            write(f"{line}\n")
            count += line.startswith(_MEMORY_LINES)
    (write_notice if arguments.file == _STANDARD else write_result)(f"exported: {count} memories\n")


@contextmanager
def _opened_export(path: Path) -> Iterator[Callable[[str], object]]:
    if path == _STANDARD:
        yield write_result
        return
    try:
        with (
            new_file(path, mode=0o600) as file,
            GzipFile(fileobj=file, mode="wb") if path.suffix == ".gz" else nullcontext(file) as output,
        ):
            yield lambda line: output.write(line.encode())
    except OSError as cause:
        raise InvalidFieldError("FILE.jsonl", path, f"cannot be written ({cause.strerror})") from cause


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
    with _opened_import(path) as lines:
        ends = [line for line in lines if line.startswith('{"end": ')]
    try:
        end = json.loads(ends[-1])
        return Cursor(str(end["epoch"]), int(end["end"]))
    except (LookupError, TypeError, ValueError) as cause:
        raise InvalidFieldError("--since", path, "is no whole export") from cause


def _lines_before_release(snapshot: Snapshot) -> Iterator[str]:
    active = active_ids(snapshot)
    for start in range(0, len(active), _CHANGES):
        for row in whole_rows(snapshot, active[start : start + _CHANGES]):
            data = row["perception_data"]
            yield json.dumps({**row, "perception_data": None if data is None else _text(data)}, ensure_ascii=False)


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


def _of_another(robot: str, part: Batch | NewMemory | _Place) -> Batch:
    if not isinstance(part, Batch):
        return Batch(robot, "", 0, 0)  # its path, or a file without UUIDs
    rows = (as_of_another(robot, row) for row in part.rows)
    return replace(part, rows=tuple(row for row in rows if row is not None))


def _store_part(memory: RobotMemory, part: Batch | NewMemory | _Place) -> Applied:
    if isinstance(part, Batch):
        return memory.apply(part)
    if isinstance(part, _Place):
        _store_place(memory, part)
        return Applied()
    if part.kind is Kind.FACT:
        memory.parts.learning.learn([part])
    else:
        memory.store(part).result()
    return Applied(stored=1)


def read_parts(path: Path) -> Generator[Batch | NewMemory | _Place]:
    """Read what an export wrote.

    Raises:
        InvalidFieldError: the file cannot be read, is no export, or is cut off.
    """
    with _opened_import(path) as file:
        yield from _parts(enumerate(file, start=1), path)


def rewrite_without(path: Path, deleted: Set[str]) -> int:
    """Write an export again without the units of these UUIDs; return how many it had.

    Raises:
        InvalidFieldError: the file cannot be read or written, is no export, or is cut off.
    """
    removed = 0
    copy = path.with_name(f".new.{path.name}")
    copy.unlink(missing_ok=True)
    with _opened_import(path) as lines, _opened_export(copy) as write:
        for number, line in enumerate(lines, start=1):
            try:
                head = json.loads(line)
                rows = [*islice(lines, head["rows"])] if "batch" in head else [line] if "unit" in head else []
                rest = [row for row in rows if json.loads(row)["uuid"] not in deleted]
            except (KeyError, TypeError, ValueError) as cause:
                problem = "was not written by `robotmem export`"
                raise InvalidFieldError(f"part {number} of {path}", line, problem) from cause
            if "batch" in head:
                if len(rows) < head["rows"]:
                    raise _cut_off(path)
                write(json.dumps({**head, "rows": len(rest)}) + "\n")
            for row in [line] if "batch" not in head and "unit" not in head else rest:
                write(row)
            removed += len(rows) - len(rest)
    if removed:
        copy.replace(path)
    copy.unlink(missing_ok=True)
    return removed


@contextmanager
def _opened_import(path: Path) -> Iterator[Iterator[str]]:
    try:
        with opened_lines(Path("/dev/stdin") if path == _STANDARD else path) as file:
            yield file
    except (OSError, EOFError, zlib.error) as cause:
        raise InvalidFieldError(
            "FILE.jsonl", path, f"cannot be read ({getattr(cause, 'strerror', '') or cause})"
        ) from cause
    except UnicodeDecodeError as cause:
        raise InvalidFieldError("FILE.jsonl", path, "is no UTF-8 text") from cause


def _parts(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[Batch | NewMemory | _Place]:
    is_whole = True
    for number, line in lines:
        place = f"line {number} of {path}"
        try:
            row = json.loads(line)
            if "batch" in row:
                is_whole = False
                yield _batch(row, lines, path)
            elif "end" in row:
                is_whole = True
            elif "unit" in row:
                # What retention wrote before it deleted it.
                yield Batch(row["robot"], "", 0, 0, (row,))
            else:
                yield _Place.read(row) if row["type"] in (_MAP, _PATH) else _new(row)
        except (KeyError, TypeError, ValueError) as cause:
            raise InvalidFieldError(place, line, "was not written by `robotmem export`") from cause
    if not is_whole:
        raise _cut_off(path)


def _batch(head: dict[str, Any], lines: Iterator[tuple[int, str]], path: Path) -> Batch:
    rows = tuple(json.loads(line) for _, line in islice(lines, head["rows"]))
    if len(rows) < head["rows"]:
        raise _cut_off(path)
    return Batch(
        head["robot"], head["epoch"], head["first"], head["last"], rows, tuple(head["deleted"]), head["lived_days"]
    )  # fmt: skip


def _cut_off(path: Path) -> InvalidFieldError:
    return InvalidFieldError("FILE.jsonl", path, "is cut off; what came before was imported, import a whole export")


def _new(row: dict[str, Any]) -> NewMemory:
    if row["type"] == Kind.NOTE.value:
        raise ValueError("a note is read from its file")
    data, metadata = row["perception_data"], row["perception_metadata"]
    columns: dict[str, Any] = {name: row[name] for name in rows.COLUMNS if name in row}
    columns["context"] = compact_json(row["context"])
    columns["source"] = row.get("source") or source_of(row["context"]) or "import"
    columns["perception_data"] = None if data is None else base64.b64decode(data)
    columns["perception_metadata"] = None if metadata is None else compact_json(metadata)
    return NewMemory(
        **columns,
        kind=Kind(row["type"]),
        pose=None if row["x"] is None else _pose(row),
        tags=tuple(sorted({tag_key(tag) for tag in row["tags"]})),
        given=frozenset(name for name in LEFT_TO_RULES if row[name]),
    )


def _place_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield the path as JSON, many points a line; of a file from before the release the maps, too."""
    if is_before_release(snapshot):
        for grid in map_rows.rows(snapshot):
            blobs = {name: _text(grid[name]) for name in ("digest", "cells")}
            yield json.dumps({"type": _MAP, **grid, **blobs}, ensure_ascii=False)
    points = path_rows.rows(snapshot)
    for start in range(0, len(points), _POINTS):
        yield json.dumps({"type": _PATH, "points": points[start : start + _POINTS]}, ensure_ascii=False)


@dataclass(frozen=True)
class _Place:
    """Content of a line: a map or a part of the path."""

    collection: str = ""
    """Collection of the map."""
    grid: OccupancyGrid | None = None
    parts: tuple[PathPart, ...] = ()

    @classmethod
    def read(cls, row: dict[str, Any]) -> _Place:
        """Read what `lines` wrote.

        Raises:
            KeyError: something is missing; or TypeError, ValueError.
            InvalidFieldError: a map cannot be used.
        """
        if row["type"] == _MAP:
            return cls(collection=str(row["collection"]), grid=unpack(row))
        names = ("frame_id", "map_id", "collection", "session_id")
        parts = []
        for (frame_id, map_id, collection, session_id), points in groupby(
            row["points"], key=lambda point: [str(point[name]) for name in names]
        ):
            moves = tuple(_move(point) for point in points)
            parts.append(PathPart(moves, frame_id, map_id, collection, session_id=session_id))
        return cls(parts=tuple(parts))


def _pose(row: dict[str, Any]) -> Pose:
    pose = Pose(*(row[axis] for axis in Pose._fields))
    check_coordinates("pose", pose[:3])
    return pose


def _store_place(memory: RobotMemory, place: _Place) -> None:
    """Store a map or points of the path; a map that was observed later stays, and so does a point of the same time."""
    if place.grid is not None:
        changes = {"memory_frame": place.grid.frame_id, "collection": place.collection}
        memory.parameters = memory.parameters.changed(**changes)
        memory.maps.store(place.grid, keeps_newer=True).result()
    for part in place.parts:
        memory.maps.store_path(part).result()


def _move(point: dict[str, Any]) -> Move:
    pose = (float(point["x"]), float(point["y"]), float(point["yaw"]))
    move = Move(int(point["observed_at"]), *pose, int(point["segment"]))
    check_moves([move])
    return move


def _text(blob: object) -> str:
    assert isinstance(blob, bytes)
    return base64.b64encode(blob).decode()


_FILE = option("file", type=Path, metavar="FILE.jsonl", help="file of JSON lines; an export makes it; - for a pipe")
COMMANDS = (
    Command(
        "export", "write all that a file holds as JSON lines",
        "Write all memories of a file as JSON lines, with their sightings and history, the sessions, the maps and the "
        "path of the robot; compressed if the name ends in .gz. Of a file of the last version before the first "
        "release, active memories are written.", _export,
        (
            _FILE,
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
            _FILE,
            option(
                "--robot", default="", metavar="NAME",
                help="store what another robot of this name knows, as the fleet would bring it",
            ),
            DATABASE,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
