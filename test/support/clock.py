"""A clock for tests: it stands where it is set."""

from __future__ import annotations

from robotmem_ros.memory import RobotMemory

NOW = 1_790_000_000 * 10**9
DAY = 86_400 * 10**9
SECOND = 10**9


class Clock:
    """The robot's clock, in nanoseconds."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        """Return the time that it shows."""
        return self.now


def live(memory: RobotMemory, clock: Clock, days: int) -> None:
    """Let a memory be awake on so many days more: something is written on each."""
    for _ in range(days):
        clock.now += DAY
        memory.parts.database.write(lambda connection: None).result()
