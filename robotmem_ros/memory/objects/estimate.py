"""Where an object is: the mean of its sightings, each weighted by how precise it was, with a bounded memory.

Up to `memory` sightings this is the exact inverse-variance mean. From then on each new sighting takes a share of the
older ones away, so that an object that is slowly moved is followed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Point = tuple[float, float, float]
_LEAST_VARIANCE = 1e-6
"""Of one millimetre: what claims to be more precise than that is not believed."""


class Covariance(NamedTuple):
    """A symmetric positive definite 3x3 matrix: m² for a covariance, 1/m² for its inverse."""

    xx: float
    xy: float
    xz: float
    yy: float
    yz: float
    zz: float

    def plus(self, other: Covariance) -> Covariance:
        """The sum of two."""
        return Covariance(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def times(self, factor: float) -> Covariance:
        """All of it larger by a factor."""
        return Covariance(*(part * factor for part in self))

    def applied(self, vector: Point) -> Point:
        """The product with a vector."""
        x, y, z = vector
        return (
            self.xx * x + self.xy * y + self.xz * z,
            self.xy * x + self.yy * y + self.yz * z,
            self.xz * x + self.yz * y + self.zz * z,
        )

    def inverse(self) -> Covariance:
        """The inverse matrix."""
        xx, xy, xz, yy, yz, zz = self
        a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
        determinant = xx * a + xy * b + xz * c
        return Covariance(
            a / determinant,
            b / determinant,
            c / determinant,
            (xx * zz - xz * xz) / determinant,
            (xy * xz - xx * yz) / determinant,
            (xx * yy - xy * xy) / determinant,
        )


class Estimate(NamedTuple):
    """A position in metres, and its covariance."""

    position: Point
    covariance: Covariance


def isotropic(deviation: float) -> Covariance:
    """The same standard deviation, in metres, in every direction."""
    variance = max(deviation * deviation, _LEAST_VARIANCE)
    return Covariance(variance, 0.0, 0.0, variance, 0.0, variance)


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


def difference(to: Point, origin: Point) -> Point:
    """The vector from one point to another."""
    return (to[0] - origin[0], to[1] - origin[1], to[2] - origin[2])


def dot(one: Point, other: Point) -> float:
    """The scalar product of two vectors."""
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def cross(one: Point, other: Point) -> Point:
    """The vector product of two vectors."""
    (ax, ay, az), (bx, by, bz) = one, other
    return (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def unit(vector: Point) -> Point:
    """A vector of length one, with the direction of one that is not zero."""
    length = math.hypot(*vector)
    return (vector[0] / length, vector[1] / length, vector[2] / length)


def squared_distance(one: Point, other: Point) -> float:
    """In m²."""
    x, y, z = difference(one, other)
    return x * x + y * y + z * z


def mahalanobis(one: Estimate, other: Estimate) -> float:
    """The squared distance of two estimates, in units of what their covariances explain."""
    vector = difference(one.position, other.position)
    weighted = one.covariance.plus(other.covariance).inverse().applied(vector)
    return sum(part * weight for part, weight in zip(vector, weighted, strict=True))
