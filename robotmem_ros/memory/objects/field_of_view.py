"""The field of view of a detector: a range and two opening angles around an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from .. import validation
from ..errors import InvalidFieldError
from ..geometry import Point, cross, difference, dot, unit
from ..models import ImportKey

_CLEARLY = 0.9
"""The share of the range and of the angles within which a position is clearly in view."""
_MIN_RANGE = 0.2
"""Metres; what is nearer to the sensor may lie below or behind its picture."""
_THREE_NUMBERS = "must be 3 numbers (x, y, z)"


class Detection(NamedTuple):
    """A detected thing and its position."""

    label: str
    position: Point
    """Position in metres."""


@dataclass(frozen=True)
class FieldOfView:
    """The view of a detector for one message, and its detections."""

    origin: Point
    """Position of the sensor in metres."""
    direction: Point
    """Direction in which it looked; of any length but zero."""
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    max_range: float
    """Metres up to which the detector surely detects an object."""
    horizontal: float
    """Opening angle from left to right within which it surely detects, in radians."""
    vertical: float
    """Opening angle from top to bottom, in radians."""
    up: Point = (0.0, 0.0, 1.0)
    """Direction of the sensor's top; not parallel to `direction`."""
    detections: tuple[Detection, ...] = ()
    """Detections that are not stored as sightings."""
    labels: frozenset[str] = frozenset()
    """The labels that the detector can give; empty for any."""
    stream: str = ""
    """Name of the detector: it misses only objects that it saw before. Empty for all objects."""
    frame_id: str = ""
    """Frame of all positions and directions; empty for the memory frame."""
    collection: str = ""
    """Collection; empty for the default one."""
    import_key: ImportKey | None = None

    def check(self, field: str) -> FieldOfView:
        """Check all numbers and directions; `field` is the name for errors.

        Raises:
            InvalidFieldError: a number is not finite or out of range, or a direction is missing.
        """
        x, y, z = validation.coordinates(f"{field}.origin", self.origin, sizes=(3,), rule=_THREE_NUMBERS)
        direction, up = _vector(f"{field}.direction", self.direction), _vector(f"{field}.up", self.up)
        if not math.hypot(*direction) > 1e-9:
            raise InvalidFieldError(f"{field}.direction", self.direction, "must not be zero")
        if not math.hypot(*cross(up, direction)) > 1e-9:
            raise InvalidFieldError(f"{field}.up", self.up, "must not be zero, nor parallel to the direction")
        return replace(
            self,
            origin=(x, y, z),
            direction=direction,
            up=up,
            observed_at=validation.time_ns(f"{field}.observed_at", self.observed_at),
            max_range=validation.number(f"{field}.max_range", self.max_range, low=0.0, high=1e6),
            horizontal=validation.number(f"{field}.horizontal", self.horizontal, low=0.0, high=2 * math.pi),
            vertical=validation.number(f"{field}.vertical", self.vertical, low=0.0, high=2 * math.pi),
        )

    def clearly_contains(self, position: Point) -> bool:
        """Tell whether a position lies clearly in view.

        Up to half a turn wide, the edges are those of a picture; a wider field of view is a band around the sensor.
        """
        ray = difference(position, self.origin)
        if not _MIN_RANGE <= math.hypot(*ray) <= self.max_range * _CLEARLY:
            return False
        axis = unit(self.direction)
        left = unit(cross(self.up, axis))
        x, y, z = dot(ray, axis), dot(ray, left), dot(ray, cross(axis, left))
        level = x if self.horizontal < math.pi else math.hypot(x, y)
        return _within(math.atan2(y, x), self.horizontal) and _within(math.atan2(z, level), self.vertical)


def _within(angle: float, opening: float) -> bool:
    # A full turn has no edge.
    return opening >= 2 * math.pi or abs(angle) <= opening / 2 * _CLEARLY


def _vector(field: str, value: object) -> Point:
    x, y, z = validation.vector(field, value, sizes=(3,), rule=_THREE_NUMBERS, low=-1e150, high=1e150)
    return x, y, z
