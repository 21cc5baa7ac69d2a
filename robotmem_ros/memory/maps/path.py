"""The path of the robot: poses over time, in segments without a jump."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import validation

MAX_POINTS = 100_000
"""Points that one query returns at most."""


class Move(NamedTuple):
    """A pose of the robot that is to be stored."""

    observed_at: int
    """Nanoseconds of the robot's clock."""
    x: float
    y: float
    yaw: float
    """Radians about z, from -pi to pi."""
    segment: int
    """Time of the first pose of its segment: between two of one segment the robot drove, and did not jump."""


def check_moves(moves: Sequence[Move]) -> None:
    """Check the poses that are to be stored.

    Raises:
        InvalidFieldError: one lies too far out, or is not finite.
    """
    for index, move in enumerate(moves):
        validation.check_coordinates(f"moves[{index}]", (move.x, move.y))
        validation.number(f"moves[{index}].yaw", move.yaw)


class PathPart(NamedTuple):
    """Poses of one robot in one frame of one map, in the order of time."""

    moves: Sequence[Move]
    frame_id: str
    map_id: str
    collection: str
    """Collection of the robot."""
    import_id: int | None = None
    """Import of the poses, which stores each of them only once; None if they come from a robot."""
    session_id: str | None = None
    """Session of all poses; None means the session that was open at the time of each."""


class PathPoint(NamedTuple):
    """A pose of the robot as it was stored: metres and radians in the memory frame."""

    observed_at: int
    """Nanoseconds of the robot's clock."""
    x: float
    y: float
    yaw: float
    session_id: str
    """The session that was open then; empty for none."""
    segment: int = 0
    """Number of its segment in the result, from 0: draw no line between two segments."""
