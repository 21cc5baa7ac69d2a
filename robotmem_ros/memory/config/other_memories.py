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
"""The ids of a file are below 2 to the power of this; those of another robot's file get a number above it."""
_NUMBERS = 4095
"""So the greatest id is below 2 to the power of 52: JavaScript holds it, too."""


class OtherFile(NamedTuple):
    """The file of another robot's memory."""

    collection: str
    """The name under which it is asked."""
    path: Path

    @property
    def _number(self) -> int:
        # Of the name, so that an id stays the same when the parameter names other files, too.
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
    found: dict[str, OtherFile] = {}
    for one in _entries(text):
        if one.collection in found:
            raise InvalidFieldError(FIELD, one.collection, "is given twice")
        if any(one.inside(other.outside(1)) for other in found.values()):
            raise InvalidFieldError(FIELD, one.collection, "gives the same ids as another name; choose another name")
        found[one.collection] = one
    return found


def _entries(text: str) -> Iterator[OtherFile]:
    for entry in text.split(",") if text.strip() else ():
        written, colon, path = (part.strip() for part in entry.partition(":"))
        collection = collection_name(FIELD, written)
        if not colon or not collection or not path:
            raise InvalidFieldError(FIELD, entry.strip(), "must be `name: path`, with a comma before the next one")
        yield OtherFile(collection, expanded_path(FIELD, path).absolute())
