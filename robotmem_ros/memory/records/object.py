"""What is known of an object: its sightings, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Sighting:
    """One observation of an object."""

    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    position: tuple[float, float, float]
    """Metres, in the frame of the object."""
    confidence: float
    label: str
    thinned: int
    """How many sightings before it were counted and not kept."""


class SeenObject(NamedTuple):
    """What is known of an object, without what was perceived of it."""

    memory_id: int
    label: str
    position: tuple[float, float, float]
    """Metres."""
    confidence: float
    frame_id: str
    first_seen: int
    """Nanoseconds since the epoch, by the robot's clock."""
    last_seen: int
    times_seen: int
    confirmed: bool
