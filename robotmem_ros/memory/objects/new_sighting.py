"""A sighting on its way to an object: what a message says of one thing that has a label and a position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..config.parameters import Parameters
from ..geometry import Covariance, Estimate, isotropic
from ..models import Kind, NewMemory, PerceptionType, Sighting
from .association import Seen


class NewSighting(NamedTuple):
    """One sighting on its way to an object."""

    place: int
    """In the message."""
    new: NewMemory
    seen: Seen

    def order(self) -> tuple[object, ...]:
        """What the sightings of a message are sorted by, whatever order they came in."""
        new = self.new
        return (self.seen.estimate, new.observed_at, new.label, new.confidence, new.content, new.context)

    def kept(self, thinned: int) -> Sighting:
        """As the history of its object keeps it; `thinned` is how many before it were counted and not kept."""
        new = self.new
        return Sighting(new.observed_at, self.seen.estimate.position, new.confidence, new.label, thinned)


_OF_THE_ROBOT = frozenset({PerceptionType.PROPRIOCEPTIVE.value, PerceptionType.PROCEDURAL.value})
"""What the robot perceives of itself: its pose is where the robot was."""


def is_sighting(new: NewMemory, parameters: Parameters) -> bool:
    """Whether something is a sighting of an object: a perception of a thing with a label, at a place.

    A pose in another frame than that of the memory is no place: nothing says where the frame was.
    """
    return (
        new.kind is Kind.PERCEPTION
        and new.as_object
        and bool(new.label)
        and new.pose is not None
        and new.frame_id == parameters.memory_frame
        and new.perception_type not in _OF_THE_ROBOT
    )


def new_sighting(
    place: int, new: NewMemory, covariance: Covariance | None, parameters: Parameters
) -> NewSighting | None:
    """The sighting that a memory tells of; None when it is none."""
    if new.pose is None or not is_sighting(new, parameters):
        return None
    rules = parameters.label_rules()
    estimate = Estimate(new.pose[:3], covariance or isotropic(parameters.object_position_stddev))
    track = (new.source, new.identity) if new.identity else None
    seen = Seen(estimate, rules.labels(new.label), rules.radius(new.label), covariance is not None, track)
    return NewSighting(place, new, seen)


def without_doubtful_tracks(group: Sequence[NewSighting]) -> list[NewSighting]:
    """A tracking id that several things of one message have says nothing."""
    given = Counter(one.seen.track for one in group)
    return [one if given[one.seen.track] == 1 else one._replace(seen=one.seen._replace(track=None)) for one in group]
