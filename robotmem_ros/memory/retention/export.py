"""Write memories that are about to be deleted as JSON lines, one object for each memory.

The lines are on disk before the memories are deleted. After a crash between the two, a memory is listed twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import RobotMemoryError
from ..storage import units
from ..storage.snapshot import Snapshot


class ExportError(RobotMemoryError):
    """The memories to be deleted could not be written, and so they stay."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"retention_export: {str(path)!r} cannot be written ({reason}); until it can, nothing is removed"
        )


def lines(snapshot: Snapshot, memory_ids: Sequence[int]) -> list[str]:
    """Return memories as JSON, in the order of the ids; missing ids are skipped."""
    return [json.dumps(row, ensure_ascii=False) for row in units.memories(snapshot, memory_ids)]


def append(path: Path, records: Sequence[str], *, database: Path) -> None:
    """Append lines to a file for its owner alone; when this returns, they are on disk.

    Raises:
        ExportError: the file cannot be written, or is one of the database.
    """
    try:
        # Opening a file of SQLite and closing it drops its locks, and writing to it destroys it.
        if any(_is_same(path, Path(f"{database}{suffix}")) for suffix in ("", "-wal", "-shm")):
            raise ExportError(path, "it is the database")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            length = file.tell()
            data = "".join(f"{line}\n" for line in records).encode()
            try:
                while data:
                    data = data[file.write(data) :]
                os.fsync(descriptor)
            except OSError:
                # Half a line would spoil the next line.
                file.truncate(length)
                raise
    except OSError as cause:
        raise ExportError(path, cause.strerror or str(cause)) from cause


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.samefile(second)
