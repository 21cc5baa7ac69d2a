"""Errors of an import."""

from __future__ import annotations

from pathlib import Path

from ..memory.errors import RobotMemoryError


class ReplayError(RobotMemoryError):
    """Base of what goes wrong with an import."""


class BagError(ReplayError):
    """A recording cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"recording {str(path)!r} {problem}")
        self.path = path


class MissingPackageError(ReplayError):
    """The package that reads recordings is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"reading recordings needs the package {name}; pip install 'robotmem_ros[replay]'")


class TopicTypeError(ReplayError):
    """A topic is configured with another type than the recording has."""

    def __init__(self, name: str, topic: str, configured_type: str, recorded_types: str) -> None:
        configured = f"{name}.type: {configured_type!r} is configured for {topic}"
        super().__init__(f"{configured}, but the recording has {recorded_types}")


class EncodingError(ReplayError):
    """A configured topic is serialised in a way that is not read."""

    def __init__(self, name: str, topic: str, encoding: str) -> None:
        problem = f"is recorded as {encoding!r}; what is read are cdr, of ROS 2, and ros1"
        super().__init__(f"{name}.topic: {topic!r} {problem}")
