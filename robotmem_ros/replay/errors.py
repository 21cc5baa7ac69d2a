"""What can go wrong with a recording or with what is to be read of it."""

from __future__ import annotations

from pathlib import Path

from ..memory.errors import RobotMemoryError


class ReplayError(RobotMemoryError):
    """Base of what goes wrong with an import."""


class BagError(ReplayError):
    """A recording cannot be read."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"recording {str(path)!r} {why}")
        self.path = path


class MissingPackageError(ReplayError):
    """The package that reads recordings is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"reading recordings needs the package {name}; pip install 'robotmem_ros[replay]'")


class TopicTypeError(ReplayError):
    """A topic is configured with another type than the recording has."""

    def __init__(self, name: str, topic: str, configured: str, recorded: str) -> None:
        super().__init__(f"{name}.type: {configured!r} is configured for {topic}, but the recording has {recorded!r}")
