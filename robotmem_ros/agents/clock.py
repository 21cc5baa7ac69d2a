"""The robot's clock, as a program beside the robot can know it: the machine's, or that of the simulation."""

from __future__ import annotations

import threading
import time

from ..memory import Kind, RobotMemory

_FIRST_OF_WALL_CLOCKS = 10**18
"""September 2001 in nanoseconds: an earlier time is that of a simulation."""
_OF_THE_ROBOT = (Kind.FACT.value, Kind.PERCEPTION.value)
"""Notes have the times of their files."""
_CHECKED_EVERY = 1.0
"""Seconds for which the newest time of a simulation is taken as it was read."""


class RobotClock:
    """Nanoseconds since the epoch by the clock that the times in the file are of.

    That is the clock of the machine. Only if the newest memory in the file carries a time of before 2001, the robot
    lives in a simulation, whose clock nobody here can read: then now is the time of that memory.
    """

    def __init__(self) -> None:
        self._newest = 0
        self._checked = -_CHECKED_EVERY
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Return what it shows."""
        return self._newest if self.is_simulated else time.time_ns()

    @property
    def is_simulated(self) -> bool:
        """Return whether the newest memory is of a simulation."""
        return 0 < self._newest < _FIRST_OF_WALL_CLOCKS

    def refresh(self, memory: RobotMemory) -> None:
        """Read the time of the newest memory of all collections, unless that was just done.

        Raises:
            StorageError: the database could not be read.
        """
        with self._lock:
            if time.monotonic() - self._checked < _CHECKED_EVERY:
                return
            self._checked = time.monotonic()
        found = memory.timeline(
            n=1, collection="*", kinds=_OF_THE_ROBOT, include_unconfirmed=True, include_forgotten=True
        ).entries
        self._newest = found[0].observed_at if found else 0
