"""Read the parameter `other_memories`: the files of other robots, each under the name of a collection.

ROS parameters have no maps, so it is a text: `forklift: /data/forklift.db, kitchen robot: ~/kitchen.db`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidFieldError
from ..validation import collection as collection_name
from ..validation import expanded_path

FIELD = "other_memories"
_BITS = 40
"""Width of an id within a file; the number of another robot's file stands in the bits above."""
_NUMBERS = 4095
"""Largest number of a file: ids stay below 2 to the power of 52, which JavaScript can hold."""


class OtherFile(NamedTuple):
    """The file of another robot's memory."""

    collection: str
    """Name by which a recall selects the file."""
    path: Path

    @property
    def _number(self) -> int:
        # From the name, so that ids stay the same when the parameter names more files.
        return zlib.crc32(self.collection.encode()) % _NUMBERS + 1

    def outside(self, memory_id: int) -> int:
        """Return the id by which a memory of the file is known outside of it; 0, which is none, stays."""
        return memory_id and (self._number << _BITS) + memory_id

    def inside(self, memory_id: int) -> int | None:
        """Return the id in the file of a memory that is known by an id; None if it is not of this file."""
        return memory_id & ((1 << _BITS) - 1) if memory_id >> _BITS == self._number else None


@lru_cache(maxsize=8)
def other_files(text: str) -> Mapping[str, OtherFile]:
    """Read the files by their names.

    Raises:
        InvalidFieldError: a text cannot be read, or a name is given twice.
    """
    files: dict[str, OtherFile] = {}
    for file in _entries(text):
        if file.collection in files:
            raise InvalidFieldError(FIELD, file.collection, "is given twice")
        if any(file.inside(earlier.outside(1)) for earlier in files.values()):
            raise InvalidFieldError(FIELD, file.collection, "gives the same ids as another name; choose another name")
        files[file.collection] = file
    return files


def _entries(text: str) -> Iterator[OtherFile]:
    for entry in text.split(",") if text.strip() else ():
        name, colon, path = (part.strip() for part in entry.partition(":"))
        collection = collection_name(FIELD, name)
        if not colon or not collection or not path:
            raise InvalidFieldError(FIELD, entry.strip(), "must be `name: path`, with a comma before the next one")
        yield OtherFile(collection, expanded_path(FIELD, path).absolute())
