"""What a detector looked at, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..records.recording import ImportKey


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
