"""Sightings of one message on their way to objects. All other elements are stored as memories of their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from ..config.label_rules import label_rules
from ..config.parameters import Parameters
from ..geometry import Covariance, Estimate, isotropic
from ..models import OF_NO_THING, Kind, NewMemory

MAX_RADII = 3.0
"""Largest gate that a covariance opens, in radii."""


class NewSighting(NamedTuple):
    """One sighting of a message on its way to an object."""

    element: int
    """Number of the sighting in the message."""
    new: NewMemory
    estimate: Estimate
    has_covariance: bool
    """Whether the covariance of the estimate was given, and not assumed."""
    labels: frozenset[str]
    """Keys of its label and of all labels that it may be confused with."""
    radius: float
    """Radius in metres."""
    gate: float
    """Distance in metres beyond which no object is within the gate."""
    is_tracked: bool
    """Whether its tracking id identifies the thing."""
    is_told: bool
    """Whether a caller saved it; the others come with a stream."""

    def order(self) -> tuple[object, ...]:
        """Return what the sightings of a message are sorted by, whatever order they came in."""
        new = self.new
        return (self.estimate, new.observed_at, new.label, new.confidence, new.content, new.context)


def is_sighting(new: NewMemory, parameters: Parameters) -> bool:
    """Tell whether something is a sighting of an object: a perception of a thing with a label, at a position.

    A pose in another frame than that of the memory does not count: nothing says where that frame was.
    """
    return (
        new.kind is Kind.PERCEPTION
        and new.as_object
        and bool(new.label)
        and new.pose is not None
        and new.frame_id == parameters.memory_frame
        and new.perception_type not in OF_NO_THING
    )


def why_no_sighting(new: NewMemory, parameters: Parameters) -> str:
    """Return why a perception is no sighting, if that is only because of its frame; else empty."""
    frame = parameters.memory_frame
    if new.frame_id == frame or not is_sighting(replace(new, frame_id=frame), parameters):
        return ""
    return f"kept in frame {new.frame_id!r}, and so no object; an object has its pose in {frame!r}"


def scenes(
    entries: Iterable[tuple[int, NewMemory, Covariance | None]], parameters: Parameters
) -> list[list[NewSighting]]:
    """Describe the sightings of one message, by collection, frame and map; in the same order, whatever theirs was.

    Each comes with its number in the message and the covariance of its position.
    """
    groups: defaultdict[tuple[str, ...], list[NewSighting]] = defaultdict(list)
    for element, new, covariance in entries:
        group = groups[new.collection, new.frame_id, new.map_id]
        group.append(new_sighting(element, new, covariance, parameters))
    return [
        sorted(_without_shared_tracks(group), key=lambda sighting: (sorted(sighting.labels), sighting.order()))
        for _, group in sorted(groups.items())
    ]


def new_sighting(element: int, new: NewMemory, covariance: Covariance | None, parameters: Parameters) -> NewSighting:
    """Describe a sighting for its association with an object."""
    assert new.pose is not None
    labels, radius = _rule(new.label, parameters.object_radius, parameters.object_radii, parameters.object_confusions)
    return NewSighting(
        element,
        new,
        Estimate(new.pose[:3], covariance or isotropic(parameters.object_position_stddev)),
        has_covariance=covariance is not None,
        labels=labels,
        radius=radius,
        gate=radius if covariance is None else radius * MAX_RADII,
        is_tracked=bool(new.identity),
        is_told=not (new.stream or new.received_at),
    )


@lru_cache(maxsize=4096)
def _rule(label: str, *rules: Any) -> tuple[frozenset[str], float]:
    """Return the keys that a label may be given by, and its radius."""
    parsed_rules = label_rules(*rules)
    return parsed_rules.labels(label), parsed_rules.radius(label)


def _without_shared_tracks(sightings: Sequence[NewSighting]) -> list[NewSighting]:
    """Ignore tracking ids that several things of one message have."""
    uses = Counter((sighting.new.stream, sighting.new.identity) for sighting in sightings)
    ambiguous = {track for track, count in uses.items() if count > 1}
    return [
        sighting._replace(is_tracked=False) if (sighting.new.stream, sighting.new.identity) in ambiguous else sighting
        for sighting in sightings
    ]
