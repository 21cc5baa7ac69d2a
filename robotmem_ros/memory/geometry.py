"""Points, covariances and estimates of positions, in metres, and a grid that finds near points."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from .errors import InvalidFieldError

Point = tuple[float, float, float]
"""x, y, z in metres."""

Matrix = tuple[Point, Point, Point]
"""Three rows."""
_MIN_VARIANCE = 1e-6
"""The square of 1 mm: no measurement is believed to be more precise."""
_MAX_VARIANCE = 1e12
_ROUNDING = 1e-6
_NEIGHBORS = tuple(product((-1, 0, 1), repeat=3))


def difference(to: Point, origin: Point) -> Point:
    """Return the vector from `origin` to another point."""
    return (to[0] - origin[0], to[1] - origin[1], to[2] - origin[2])


def dot(first: Point, second: Point) -> float:
    """Return the scalar product of two vectors."""
    return first[0] * second[0] + first[1] * second[1] + first[2] * second[2]


def cross(first: Point, second: Point) -> Point:
    """Return the vector product of two vectors."""
    (ax, ay, az), (bx, by, bz) = first, second
    return (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def unit(vector: Point) -> Point:
    """Scale a vector that is not zero to length one."""
    length = math.hypot(*vector)
    return (vector[0] / length, vector[1] / length, vector[2] / length)


def rotated(quaternion: tuple[float, float, float, float], point: Point) -> Point:
    """Rotate a point by a unit quaternion x, y, z, w."""
    # v + 2w (q x v) + 2 q x (q x v), with q the vector part of the unit quaternion and w its scalar part.
    qx, qy, qz, qw = quaternion
    x, y, z = point
    tx, ty, tz = 2 * (qy * z - qz * y), 2 * (qz * x - qx * z), 2 * (qx * y - qy * x)
    return x + qw * tx + qy * tz - qz * ty, y + qw * ty + qz * tx - qx * tz, z + qw * tz + qx * ty - qy * tx


def squared_distance(first: Point, second: Point) -> float:
    """Return the square of a distance, in m²."""
    x, y, z = difference(first, second)
    return x * x + y * y + z * z


class Covariance(NamedTuple):
    """A symmetric positive definite 3x3 matrix: m² for a covariance, 1/m² for its inverse."""

    xx: float
    xy: float
    xz: float
    yy: float
    yz: float
    zz: float

    @classmethod
    def of(cls, rows: Matrix) -> Covariance:
        """Make one of three rows, of which the upper triangle counts."""
        return cls(*(rows[row][column] for row in range(3) for column in range(row, 3)))

    def rows(self) -> Matrix:
        """Return its three rows."""
        xx, xy, xz, yy, yz, zz = self
        return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)

    def plus(self, other: Covariance) -> Covariance:
        """Add another matrix."""
        return Covariance(*(own_part + other_part for own_part, other_part in zip(self, other, strict=True)))

    def times(self, factor: float) -> Covariance:
        """Multiply by a number."""
        return Covariance(*(part * factor for part in self))

    def apply(self, vector: Point) -> Point:
        """Multiply by a vector."""
        x, y, z = vector
        return (
            self.xx * x + self.xy * y + self.xz * z,
            self.xy * x + self.yy * y + self.yz * z,
            self.xz * x + self.yz * y + self.zz * z,
        )

    def inverse(self) -> Covariance:
        """Invert the matrix by its cofactors."""
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


def isotropic(stddev: float) -> Covariance:
    """Make a covariance with the same standard deviation, in metres, in every direction."""
    variance = max(stddev * stddev, _MIN_VARIANCE)
    return Covariance(variance, 0.0, 0.0, variance, 0.0, variance)


def checked_covariance(field: str, value: object) -> Covariance | None:
    """Read a covariance from 3 rows of 3 numbers, in m²; None stays None.

    It is made symmetric and invertible: variances below (1 mm)² along any direction are raised to that.

    Raises:
        InvalidFieldError: it is no covariance.
    """
    if value is None:
        return None
    expected = "must be 3 rows of 3 numbers, symmetric, with no negative variance"
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFieldError(field, value, expected) from None
    if matrix.shape != (3, 3) or not np.all(np.isfinite(matrix)) or np.abs(matrix).max() > _MAX_VARIANCE:
        raise InvalidFieldError(field, value, expected)
    scale = float(np.abs(matrix).max())
    variances, directions = np.linalg.eigh((matrix + matrix.T) / 2.0)
    if np.abs(matrix - matrix.T).max() > _ROUNDING * scale or variances.min() < -_ROUNDING * scale:
        raise InvalidFieldError(field, value, expected)
    raised = np.maximum(variances, max(_MIN_VARIANCE, _MIN_VARIANCE * scale))
    clean = (directions * raised) @ directions.T
    return Covariance.of(clean.tolist())


class Estimate(NamedTuple):
    """A position in metres and its covariance."""

    position: Point
    covariance: Covariance


def combined(first: Estimate, second: Estimate) -> Estimate:
    """Fuse two independent estimates into their inverse-variance mean."""
    information = second.covariance.inverse()
    covariance = first.covariance.inverse().plus(information).inverse()
    shift = covariance.apply(information.apply(difference(second.position, first.position)))
    x, y, z = first.position
    return Estimate((x + shift[0], y + shift[1], z + shift[2]), covariance)


def updated(old: Estimate, measured: Estimate, *, count: int, window: int) -> Estimate:
    """Fuse an estimate from `count` measurements with one more.

    Up to `window` measurements this is their exact inverse-variance mean. Beyond it, each new measurement takes a share
    of the weight of the older ones (exponential forgetting, factor 1 - 1 / window), so that the estimate follows what
    is moved slowly.
    """
    fade = 1.0 if count < window else 1.0 - 1.0 / window
    if fade == 0.0:
        return measured
    return combined(Estimate(old.position, old.covariance.times(1.0 / fade)), measured)


def mahalanobis(first: Estimate, second: Estimate) -> float:
    """Return the squared Mahalanobis distance of two estimates, under the sum of their covariances."""
    vector = difference(first.position, second.position)
    weighted = first.covariance.plus(second.covariance).inverse().apply(vector)
    return sum(part * weight for part, weight in zip(vector, weighted, strict=True))


_FEW_POINTS = 16
"""So many points are compared faster than their cubes are looked up."""


class Grid:
    """Points by the cube in which they lie, to find those near a position without a comparison with all of them.

    `width` is that of a cube in metres, the largest distance that a search is for.
    """

    def __init__(self, points: Sequence[Point], width: float) -> None:
        self._indices = list(range(len(points))) if len(points) <= _FEW_POINTS else None
        # The margin covers what is lost by rounding.
        self._width = width * (1 + 1e-6)
        self._cells: defaultdict[Point, list[int]] = defaultdict(list)
        for index, point in enumerate(points if self._indices is None else ()):
            self._cells[self._cell(point)].append(index)

    def around(self, position: Point) -> list[int]:
        """Return the indices, ascending, of all points within `width` of a position, and of some beyond."""
        if self._indices is not None:
            return self._indices
        x, y, z = self._cell(position)
        indices: list[int] = []
        for dx, dy, dz in _NEIGHBORS:
            indices += self._cells.get((x + dx, y + dy, z + dz), ())
        indices.sort()
        return indices

    def _cell(self, point: Point) -> Point:
        x, y, z = point
        return (x // self._width, y // self._width, z // self._width)
