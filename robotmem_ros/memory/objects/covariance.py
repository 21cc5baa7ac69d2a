"""How precise a position is: its covariance, given or assumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InvalidFieldError
from .geometry import Point

_LEAST_VARIANCE = 1e-6
"""Of one millimetre: what claims to be more precise than that is not believed."""
_GREATEST_VARIANCE = 1e12
_ROUNDING = 1e-6


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


def isotropic(deviation: float) -> Covariance:
    """The same standard deviation, in metres, in every direction."""
    variance = max(deviation * deviation, _LEAST_VARIANCE)
    return Covariance(variance, 0.0, 0.0, variance, 0.0, variance)


def checked_covariance(field: str, value: object) -> Covariance | None:
    """The covariance of a position from 3 rows of 3 numbers, in m²; None stays None.

    It is made symmetric and invertible: variances of less than (1 mm)² along any direction count as that much.
    """
    if value is None:
        return None
    wanted = "must be 3 rows of 3 numbers, symmetric, with no negative variance"
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFieldError(field, value, wanted) from None
    if matrix.shape != (3, 3) or not np.all(np.isfinite(matrix)) or np.abs(matrix).max() > _GREATEST_VARIANCE:
        raise InvalidFieldError(field, value, wanted)
    scale = float(np.abs(matrix).max())
    variances, directions = np.linalg.eigh((matrix + matrix.T) / 2.0)
    if np.abs(matrix - matrix.T).max() > _ROUNDING * scale or variances.min() < -_ROUNDING * scale:
        raise InvalidFieldError(field, value, wanted)
    raised = np.maximum(variances, max(_LEAST_VARIANCE, _LEAST_VARIANCE * scale))
    clean = (directions * raised) @ directions.T
    return Covariance(*(float(clean[row, column]) for row in range(3) for column in range(row, 3)))


def checked_covariances(field: str, values: Iterable[object], count: int) -> Sequence[Covariance | None]:
    """The covariances of so many positions; where none is given, None for each.

    Raises:
        InvalidFieldError: there are others than `count`, or one cannot be used.
    """
    given = list(values)
    if not given:
        return [None] * count
    if len(given) != count:
        raise InvalidFieldError(field, len(given), f"must be as many as the sightings, {count}")
    return [checked_covariance(f"{field}[{index}]", value) for index, value in enumerate(given)]
