"""An object as it is tracked, and what sightings change of objects: values that storage loads and saves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .geometry import Estimate, Point
from .models import NewMemory, Size

Pair = tuple[int, int]
"""The ids of two objects, the lower one first."""
UNSAVED = 1 << 62
"""The first id of objects that are not saved yet: higher than all that are."""


@dataclass
class Track:
    """A tracked object: its row and what its memory says of it."""

    memory_id: int
    """`UNSAVED` or higher until it is saved for the first time."""
    label: str
    context: str
    estimate: Estimate
    """Position in metres, in the frame of its memory, with its covariance."""
    votes: dict[str, int]
    """Number of sightings that gave each label, as they gave it."""
    first_seen: int
    last_seen: int
    times_seen: int
    existence: float
    """Probability that it exists, the confidence of its memory."""
    hits: float
    """Looks that detected it; each look counts by how little it depends on the one before."""
    last_hit: int
    """Time at which the last of them was counted."""
    confirmed: bool
    misses: float = 0.0
    """Looks that did not, though it was detected again later."""
    missed: float = 0.0
    """Looks that did not since it was detected last."""
    last_missed: int = 0
    appeared: int = 0
    """Time of the first look of its stay, or of what becomes one if it is confirmed."""
    sure: float = 0.0
    """Probability that it exists after it was detected last."""
    last_kept: int = 0
    """Time of the last sighting that has a row."""
    subsampled: int = 0
    """Sightings since then, which have none."""
    told: bool = False
    """Whether a caller saved it, and not only a stream."""
    sources: dict[str, str] = field(default_factory=dict)
    """Detectors that saw it, each with the tracking id that it gave last, or ""."""
    sizes: tuple[Size, ...] = ()
    """A sample of the sizes that sightings gave."""


class Neighbourhood(NamedTuple):
    """Messages in which two neighbours were both seen, and in which only one of them was."""

    together: int = 0
    alone: int = 0

    def plus(self, addend: Neighbourhood) -> Neighbourhood:
        """Add other messages."""
        return Neighbourhood(self.together + addend.together, self.alone + addend.alone)


class KeptSighting(NamedTuple):
    """A sighting of an object that gets a row."""

    memory_id: int
    new: NewMemory
    position: Point
    subsampled: int
    """Number of sightings without a row that it stands for besides its own."""


class Stay(NamedTuple):
    """From when until when an object was at its place, as far as looks tell."""

    memory_id: int
    first_seen: int
    end: StayEnd | None = None
    """None while it is open."""


class StayEnd(NamedTuple):
    """The end of a stay, and the object as it was in it."""

    last_seen: int
    first_absent: int
    """Time of the look that closed it."""
    label: str
    confidence: float
    """Probability that it existed after it was detected last."""
    position: Point
    """Metres, in the frame of its memory."""


@dataclass
class Changes:
    """Changes of objects by the sightings of one message, to be saved in the order of the fields."""

    created: list[tuple[Track, NewMemory]] = field(default_factory=list)
    """New objects, each with its first sighting."""
    sightings: list[KeptSighting] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)
    """Stays that opened, closed, or were opened again."""
    tracks: dict[int, Track] = field(default_factory=dict)
    """Known objects that changed, by id."""
    columns: dict[int, dict[str, object]] = field(default_factory=dict)
    """Columns of their memories to write: each costs its triggers, so no others are named."""
    neighbours: dict[Pair, Neighbourhood] = field(default_factory=dict)
    """Messages to add."""
    merged: list[tuple[int, int]] = field(default_factory=list)
    """Objects that turned out to be another one: the id of the one that goes and of the one that stays."""
