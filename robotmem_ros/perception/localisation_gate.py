"""Decide from the covariance of a pose topic whether the robot is localised well enough to store perceptions."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SIZE = 36
_YAW = 35


class LocalisationGate:
    """Open while the last pose had a covariance within limits; closed before the first pose.

    `position_limit` is a standard deviation in metres, along the worst direction in the plane; `yaw_limit` in radians.
    """

    def __init__(self, position_limit: float, yaw_limit: float) -> None:
        self._position_limit = position_limit
        self._yaw_limit = yaw_limit
        self.is_open = False
        """Whether the robot is well localised."""

    def feed(self, covariance: Sequence[float]) -> None:
        """Take the covariance of a pose: 36 numbers, row by row, m² and rad². All zero is a perfect pose."""
        position, yaw = _deviations(covariance)
        # False for NaN.
        self.is_open = position <= self._position_limit and yaw <= self._yaw_limit


def _deviations(covariance: Sequence[float]) -> tuple[float, float]:
    """Return the standard deviations of position and yaw; NaN if the covariance is none."""
    if len(covariance) != _SIZE:
        return math.nan, math.nan
    xx, xy, yy, yaw = (float(covariance[index]) for index in (0, 1, 7, _YAW))
    if not (xx >= 0.0 and yy >= 0.0 and yaw >= 0.0 and math.isfinite(xy)):
        return math.nan, math.nan
    # The larger eigenvalue of the block of x and y.
    largest = (xx + yy) / 2.0 + math.hypot((xx - yy) / 2.0, xy)
    return math.sqrt(largest), math.sqrt(yaw)
