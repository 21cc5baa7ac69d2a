"""Places and the spaces that they lie in, as values.

Only positions of one space are compared: one field, in one frame of the current map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

POSITION = "position"
"""The field of the pose of a memory."""
POSE_NAMES = (POSITION, "pose", "orientation", "x", "y", "z")
"""Names of which only `position` can be meant; a key in the context is `context.pose`."""
AREA_PATH = "spatial.area"
"""The path into the context of the name of the area that a memory lies in."""
Point = tuple[float, ...]
"""x, y and perhaps z in metres."""


class Field(NamedTuple):
    """Which positions to compare: a field of memories in a frame of the current map."""

    located: str
    """Field of the request that names the frame, such as `near.target`."""
    name: str
    """`position`, or a path into the context."""
    frame_id: str
    map_id: str
    memory_frame: str


@dataclass(frozen=True)
class Place:
    """A point in metres, and how far from it; `max_distance` is inf when there is no limit."""

    field: Field
    target: Point
    max_distance: float = math.inf


def context_field(path: str) -> str:
    """Return the field of a dot path into the context: the path, unless that means the pose or another path."""
    return f"context.{path}" if path in POSE_NAMES or path.startswith("context.") else path


def greatest_square(radius: float) -> float:
    """Return the greatest number whose root is at most a radius, so that the same memories are near enough always."""
    square = radius * radius
    while math.sqrt(square) > radius:
        square = math.nextafter(square, 0.0)
    while math.sqrt(greater := math.nextafter(square, math.inf)) <= radius:
        square = greater
    return square
