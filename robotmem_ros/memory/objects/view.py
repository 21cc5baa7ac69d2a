"""What a detector looked at, once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from .. import validation
from ..errors import InvalidFieldError
from ..models import ImportKey
from .geometry import Point, cross


class Glimpse(NamedTuple):
    """That something was detected, and where."""

    label: str
    position: tuple[float, float, float]
    """Metres."""


@dataclass(frozen=True)
class View:
    """What a detector looked at, once, and what it saw there."""

    origin: tuple[float, float, float]
    """Where the sensor was, in metres."""
    direction: tuple[float, float, float]
    """Where it looked; of any length but zero."""
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    reach: float
    """Metres up to which the detector surely sees an object."""
    horizontal: float
    """Opening angle from left to right within which it surely sees, in radians."""
    vertical: float
    """The same from top to bottom."""
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Where the sensor's top is; not parallel to `direction`."""
    seen: frozenset[int] = frozenset()
    """Ids of the objects that this message gave a sighting of."""
    glimpses: tuple[Glimpse, ...] = ()
    """What was detected and is no sighting, for it was left out."""
    labels: frozenset[str] = frozenset()
    """The labels that the detector can give; empty for any."""
    source: str = ""
    """Which detector it is: only objects that it saw before are missed by it; empty for all objects."""
    frame_id: str = ""
    """Frame of all positions and directions; empty for the memory frame."""
    collection: str = ""
    """Empty for the default collection."""
    import_key: ImportKey | None = None


def checked_view(field: str, value: View) -> View:
    """A view with finite numbers, a direction and a top."""
    direction, up = _point(f"{field}.direction", value.direction), _point(f"{field}.up", value.up)
    if not math.hypot(*direction) > 1e-9:
        raise InvalidFieldError(f"{field}.direction", value.direction, "must not be zero")
    if not math.hypot(*cross(up, direction)) > 1e-9:
        raise InvalidFieldError(f"{field}.up", value.up, "must not be zero, nor parallel to the direction")
    return replace(
        value,
        origin=_point(f"{field}.origin", value.origin),
        direction=direction,
        up=up,
        observed_at=validation.time_ns(f"{field}.observed_at", value.observed_at),
        reach=validation.number(f"{field}.reach", value.reach, low=0.0, high=1e6),
        horizontal=validation.number(f"{field}.horizontal", value.horizontal, low=0.0, high=2 * math.pi),
        vertical=validation.number(f"{field}.vertical", value.vertical, low=0.0, high=2 * math.pi),
    )


def _point(field: str, value: object) -> Point:
    wanted = "must be 3 numbers (x, y, z)"
    x, y, z = validation.vector(field, value, sizes=(3,), wanted=wanted, low=-1e150, high=1e150)
    return x, y, z
