"""Points and vectors in space."""

from __future__ import annotations

import math

Point = tuple[float, float, float]
"""x, y, z in metres."""


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
