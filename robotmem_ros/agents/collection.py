"""The collection that tools work in: the one that is in use in the file, if nobody named one."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..memory import RobotMemory

_LOG = logging.getLogger(__name__)


class CollectionInUse:
    """Turns a memory to the collection in use, as soon as there is one.

    A file may be empty when it is opened, such as that of a node that was just started. Until the collection of the
    memory holds something, the largest one that does is taken instead.
    """

    def __init__(self, *, is_given: bool) -> None:
        self._settled = is_given

    def follow(self, memory: RobotMemory) -> None:
        """Look for the collection, unless it is settled.

        Raises:
            StorageError: the database could not be read.
        """
        if self._settled:
            return
        sizes = collections(memory)
        if memory.parameters.collection not in sizes and sizes:
            largest = next(iter(sizes))
            memory.parameters = memory.parameters.changed(collection=largest)
            _LOG.info("the collection is %r, the largest in the file; --collection names another", largest)
        self._settled = bool(sizes)


def collections(memory: RobotMemory) -> Mapping[str, int]:
    """Return how many memories each collection holds, largest first, without those of notes.

    Raises:
        StorageError: the database could not be read.
    """
    of_notes = {one.collection for one in memory.notes().folders}
    return {one.value: one.memories for one in memory.counts("collections") if one.value not in of_notes}
