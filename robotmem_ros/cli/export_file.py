"""Read, write and clean the files of an export: batches of changes, then the path of the robot, as JSON lines."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Set
from contextlib import contextmanager, nullcontext
from gzip import GzipFile
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from ..memory.batch import Batch, opened_lines
from ..memory.errors import InvalidFieldError
from ..memory.maps import Move, PathPart
from ..memory.new_file import new_file
from .output import write_result

STANDARD = Path("-")
"""Standard output of an export, standard input of an import."""
Part = Batch | tuple[PathPart, ...]
"""Part of an export: changes, or a piece of the path."""


@contextmanager
def opened_export(path: Path) -> Iterator[Callable[[str], object]]:
    """Give the function that writes an export."""
    if path == STANDARD:
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


@contextmanager
def opened_import(path: Path) -> Iterator[Iterator[str]]:
    """Give the lines of an export."""
    try:
        with opened_lines(Path("/dev/stdin") if path == STANDARD else path) as file:
            yield file
    except (OSError, EOFError, zlib.error) as cause:
        raise InvalidFieldError(
            "FILE.jsonl", path, f"cannot be read ({getattr(cause, 'strerror', '') or cause})"
        ) from cause
    except UnicodeDecodeError as cause:
        raise InvalidFieldError("FILE.jsonl", path, "is no UTF-8 text") from cause


def read_parts(path: Path) -> Generator[Part]:
    """Read what an export wrote.

    Raises:
        InvalidFieldError: the file cannot be read, is no export, or is cut off.
    """
    is_whole = True
    with opened_import(path) as file:
        lines = enumerate(file, start=1)
        for number, line in lines:
            with _as_error_of(f"line {number} of {path}", line):
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
                    yield _path(row["points"])
    if not is_whole:
        raise _cut_off(path)


def rewrite_without(path: Path, deleted: Set[str]) -> int:
    """Write an export again without the units of these UUIDs; return how many it had.

    Raises:
        InvalidFieldError: the file cannot be read or written, is no export, or is cut off.
    """
    removed = 0
    copy = path.with_name(f".new.{path.name}")
    copy.unlink(missing_ok=True)
    with opened_import(path) as lines, opened_export(copy) as write:
        for number, line in enumerate(lines, start=1):
            with _as_error_of(f"part {number} of {path}", line):
                head = json.loads(line)
                rows = [*islice(lines, head["rows"])] if "batch" in head else [line] if "unit" in head else []
                rest = [row for row in rows if json.loads(row)["uuid"] not in deleted]
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
def _as_error_of(place: str, line: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError) as cause:
        raise InvalidFieldError(place, line, "was not written by `robotmem export`") from cause


def _batch(head: dict[str, Any], lines: Iterator[tuple[int, str]], path: Path) -> Batch:
    rows = tuple(json.loads(line) for _, line in islice(lines, head["rows"]))
    if len(rows) < head["rows"]:
        raise _cut_off(path)
    return Batch(
        head["robot"], head["epoch"], head["first"], head["last"], rows, tuple(head["deleted"]), head["lived_days"]
    )  # fmt: skip


def _path(points: list[dict[str, Any]]) -> tuple[PathPart, ...]:
    return tuple(
        PathPart(tuple(map(_move, group)), frame_id, map_id, collection, session_id=session_id)
        for (frame_id, map_id, collection, session_id), group in groupby(points, key=_track)
    )


def _track(point: Mapping[str, Any]) -> list[str]:
    return [str(point[name]) for name in ("frame_id", "map_id", "collection", "session_id")]


def _move(point: Mapping[str, Any]) -> Move:
    pose = (float(point["x"]), float(point["y"]), float(point["yaw"]))
    return Move(int(point["observed_at"]), *pose, int(point["segment"]))


def _cut_off(path: Path) -> InvalidFieldError:
    return InvalidFieldError("FILE.jsonl", path, "is cut off; what came before was imported, import a whole export")
