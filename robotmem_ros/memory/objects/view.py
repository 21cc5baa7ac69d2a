"""What a detector looked at, once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import validation
from ..errors import InvalidFieldError
from ..records.recording import ImportKey
from .geometry import cross


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
    for part in ("origin", "direction", "up"):
        numbers = getattr(value, part)
        if len(numbers) != 3:
            raise InvalidFieldError(f"{field}.{part}", numbers, "must be 3 numbers (x, y, z)")
        for index, item in enumerate(numbers):
            validation.number(f"{field}.{part}[{index}]", item, low=-1e150, high=1e150)
    if not math.hypot(*value.direction) > 1e-9:
        raise InvalidFieldError(f"{field}.direction", value.direction, "must not be zero")
    if not math.hypot(*cross(value.up, value.direction)) > 1e-9:
        raise InvalidFieldError(f"{field}.up", value.up, "must not be zero, nor parallel to the direction")
    for part, high in (("reach", 1e6), ("horizontal", 2 * math.pi), ("vertical", 2 * math.pi)):
        validation.number(f"{field}.{part}", getattr(value, part), low=0.0, high=high)
    validation.time_ns(f"{field}.observed_at", value.observed_at)
    return value
