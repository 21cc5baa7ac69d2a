"""Read, write and clean the files of an export: batches of changes, then the path of the robot, as JSON lines."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Set
from contextlib import contextmanager, nullcontext
from gzip import GzipFile
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TextIO

from ..memory.batch import Batch, opened_lines
from ..memory.errors import MALFORMED, InvalidFieldError
from ..memory.maps import Move, PathPart
from ..memory.new_file import new_file
from ..memory.new_unit import check_head, check_points, check_unit
from .output import write_result

STANDARD = Path("-")
"""Standard output of an export, standard input of an import."""
_MAX_LINE = 400_000_000
"""Characters of a line: a memory with the largest raw data that a parameter allows has 358 million."""
_FOREIGN = "it was not written by `robotmem export`"
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
            yield _lines(file, path)
    except (OSError, EOFError, zlib.error) as cause:
        raise InvalidFieldError(
            "FILE.jsonl", path, f"cannot be read ({getattr(cause, 'strerror', '') or cause})"
        ) from cause
    except UnicodeDecodeError as cause:
        raise InvalidFieldError("FILE.jsonl", path, "is no UTF-8 text") from cause


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            problem = f"is longer than {_MAX_LINE:,} characters; {_FOREIGN}"
            raise InvalidFieldError(f"line {number} of {path}", line[:80], problem)
        yield line


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
                head = check_head(row) if "batch" in row else None
                part = None if "batch" in row or "end" in row else _part(row)
            is_whole = head is None and (is_whole or part is None)
            if head is not None:
                part = _batch(head, lines, path)
            if part is not None:
                yield part
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
    except InvalidFieldError as error:
        problem = f"{error.expected}; {_FOREIGN}"
        raise InvalidFieldError(f"{place}, {error.field}", error.value, problem) from error
    except MALFORMED as cause:
        raise InvalidFieldError(place, line, _FOREIGN.removeprefix("it ")) from cause


def _batch(head: Mapping[str, Any], lines: Iterator[tuple[int, str]], path: Path) -> Batch:
    rows = []
    for number, line in islice(lines, head["rows"]):
        with _as_error_of(f"line {number} of {path}", line):
            rows.append(check_unit(json.loads(line)))
    if len(rows) < head["rows"]:
        raise _cut_off(path)
    return Batch(
        head["robot"], head["epoch"], head["first"], head["last"], tuple(rows), head["deleted"], head["lived_days"]
    )


def _part(row: Mapping[str, Any]) -> Part:
    if "unit" in row:
        # What retention wrote before it deleted it.
        unit = check_unit(row)
        return Batch(unit["robot"], "", 0, 0, (unit,))
    return _path(check_points(row["points"]))


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
    return InvalidFieldError("FILE.jsonl", path, "is cut off")
