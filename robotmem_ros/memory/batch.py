"""What changed in a file between two revisions, as a value and as lines of JSON.

A batch can be sent, stored, and applied again. A file of batches has a line for each batch, followed by a line for each
of its rows. It is compressed by gzip if its name ends in `.gz`; who reads it need not know.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple, TextIO

_GZIP = b"\x1f\x8b"


class Cursor(NamedTuple):
    """What a follower has seen of a file."""

    epoch: str = ""
    """The epoch of the revision, in hexadecimal digits; empty for none."""
    revision: int = 0
    end_epoch: str = ""
    end: int = 0
    """The last revision of the file at that time: what was changed after `revision` was not seen as it was before."""


BEGINNING = Cursor()
"""Cursor of a follower that has seen nothing."""


@dataclass(frozen=True)
class Batch:
    """All that changed in a file after the revision `first`, up to the revision `last`, whole transactions."""

    robot: str
    """The lineage of the file, in hexadecimal digits."""
    epoch: str
    """Epoch of the last revision, in hexadecimal digits: see revisions.py."""
    first: int
    last: int
    rows: tuple[Mapping[str, Any], ...] = ()
    """Units as JSON: each with its `unit`, its `uuid`, and `robot` and `revision` that its version is from."""
    deleted: tuple[str, ...] = ()
    """UUIDs in hexadecimal digits."""
    lived_days: int = 0
    """Days that the file has lived: see conditions/decay.py."""
    end_epoch: str = ""
    end: int = 0
    """The last revision of the file when the batch was read, and its epoch."""

    @property
    def cursor(self) -> Cursor:
        """Return what a follower has seen that has applied this batch and all before."""
        return Cursor(self.epoch, self.last, self.end_epoch, self.end)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the batch, without line ends."""
        head = {"batch": 1, "robot": self.robot, "epoch": self.epoch, "first": self.first, "last": self.last}
        head |= {"lived_days": self.lived_days, "rows": len(self.rows)}
        yield json.dumps({**head, "deleted": self.deleted})
        yield from (json.dumps(row, ensure_ascii=False) for row in self.rows)


class Applied(NamedTuple):
    """What became of the memories of a batch."""

    stored: int = 0
    """Memories that were new, or newer than the version that was there."""
    deleted: int = 0
    """Memories, sessions, maps and tags that were there and were deleted."""
    known: int = 0
    """Memories that were there in the same or a newer version."""
    refused: int = 0
    """Memories that were deleted here before."""


@contextmanager
def opened_lines(path: Path) -> Iterator[TextIO]:
    """Open a file of lines to read, compressed or not; raises OSError."""
    with path.open("rb") as file:
        is_compressed = file.peek(len(_GZIP)).startswith(_GZIP)
        with gzip.open(file, "rt", encoding="utf-8") if is_compressed else TextIOWrapper(file, "utf-8") as lines:
            yield lines
