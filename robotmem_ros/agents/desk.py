"""Show tools a memory as it is now, by the robot's clock, in the collection that is in use."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ..memory import Kind, RobotMemory
from ..memory.clocks import FIRST_OF_WALL_CLOCKS
from ..memory.times import iso
from .views import Shown, View

_OF_THE_ROBOT = (Kind.FACT.value, Kind.PERCEPTION.value)
"""Notes have the times of their files."""
_CHECKED_EVERY = 1.0
"""Seconds for which the newest time of a simulation is taken as it was read."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Desk:
    """A memory, and how a tool shows it."""

    memory: RobotMemory
    view: View
    is_simulated: bool = False
    """Whether the robot's clock is that of a simulation, and now the newest time in the file."""
    read_only: bool = False

    def about(self) -> Shown:
        """Say what holds for all tools."""
        clock = "of a simulation: now is the time of the newest memory" if self.is_simulated else "of this machine"
        return {
            "now": iso(self.view.now), "clock": clock, "read_only": self.read_only,
            "collection": self.memory.parameters.collection, "collections": dict(collections(self.memory)),
            "memory_frame": self.view.memory_frame,
        }  # fmt: skip


class RobotClock:
    """Nanoseconds since the epoch by the clock that the times in the file are of.

    That is the clock of the machine. Only if the newest memory in the file carries a time of before 2001, the robot
    lives in a simulation, whose clock nobody here can read: then now is the time of that memory.
    """

    def __init__(self) -> None:
        self._newest = 0
        self._last_check = -_CHECKED_EVERY
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Return what it shows."""
        return self._newest if self.is_simulated else time.time_ns()

    @property
    def is_simulated(self) -> bool:
        """Return whether the newest memory is of a simulation."""
        return 0 < self._newest < FIRST_OF_WALL_CLOCKS

    def refresh(self, memory: RobotMemory) -> None:
        """Read the time of the newest memory of all collections, unless that was just done.

        Raises:
            StorageError: the database could not be read.
        """
        with self._lock:
            if time.monotonic() - self._last_check < _CHECKED_EVERY:
                return
            self._last_check = time.monotonic()
        entries = memory.timeline(
            n=1, collection="*", kinds=_OF_THE_ROBOT, include_unconfirmed=True, include_forgotten=True
        ).entries
        self._newest = entries[0].observed_at if entries else 0


class CollectionInUse:
    """Turns a memory to the collection in use, as soon as there is one.

    A file may be empty when it is opened, such as that of a node that was just started. Until the collection of the
    memory holds something, the largest one that does is taken instead.
    """

    def __init__(self, *, is_fixed: bool) -> None:
        self._settled = is_fixed

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
    of_notes = {folder.collection for folder in memory.notes.state().folders}
    return {count.value: count.memories for count in memory.counts("collections") if count.value not in of_notes}
