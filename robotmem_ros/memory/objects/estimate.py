"""Where an object is: the mean of its sightings, each weighted by how precise it was, with a bounded memory.

Up to `memory` sightings this is the exact inverse-variance mean. From then on each new sighting takes a share of the
older ones away, so that an object that is slowly moved is followed.
"""

from __future__ import annotations

from typing import NamedTuple

from .covariance import Covariance
from .geometry import Point, difference


class Estimate(NamedTuple):
    """A position in metres, and its covariance."""

    position: Point
    covariance: Covariance


def updated(old: Estimate, sighting: Estimate, *, times_seen: int, memory: int) -> Estimate:
    """The estimate after one more sighting; `times_seen` counts those before it."""
    fade = 1.0 if times_seen < memory else 1.0 - 1.0 / memory
    if fade == 0.0:
        return sighting
    return combined(Estimate(old.position, old.covariance.times(1.0 / fade)), sighting)


def combined(one: Estimate, other: Estimate) -> Estimate:
    """What two independent estimates say together."""
    information = other.covariance.inverse()
    covariance = one.covariance.inverse().plus(information).inverse()
    moved = covariance.applied(information.applied(difference(other.position, one.position)))
    x, y, z = one.position
    return Estimate((x + moved[0], y + moved[1], z + moved[2]), covariance)


def mahalanobis(one: Estimate, other: Estimate) -> float:
    """The squared distance of two estimates, in units of what their covariances explain."""
    vector = difference(one.position, other.position)
    weighted = one.covariance.plus(other.covariance).inverse().applied(vector)
    return sum(part * weight for part, weight in zip(vector, weighted, strict=True))
