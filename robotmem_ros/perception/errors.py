"""Errors of a configured topic; raised at start, never at the first message."""

from __future__ import annotations

from collections.abc import Iterable

from ..memory.errors import InvalidFieldError, RobotMemoryError, did_you_mean, shown

_ALIKE = 0.75
"""Least likeness of two types: many share half of their letters with all others."""


class UnknownTypeError(RobotMemoryError):
    """A message type cannot be imported, or the recording does not define it."""

    def __init__(self, type_name: str, why: str, known: Iterable[str] = ()) -> None:
        """Name the nearest of the `known` types."""
        self.type_name = type_name
        self.why = f"{why}{did_you_mean(type_name, known, cutoff=_ALIKE)}"
        super().__init__(f"message type {shown(type_name)} {self.why}")


class PathError(RobotMemoryError):
    """A dot path or a template is malformed, or leads to no field of the type."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{shown(path)} {why}")
        self.path = path
        self.why = why


class TopicError(InvalidFieldError):
    """What a topic's configuration reads does not exist in its message type."""

    def __init__(self, key: str, value: object, topic: str, type_name: str, why: str) -> None:
        super().__init__(key, value, f"cannot be read from topic {topic} of type {type_name}: {why}")


class NoValueError(Exception):
    """The message at hand has nothing at a path: an index beyond the end of an array."""
