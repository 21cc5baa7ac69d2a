"""Whether the robot knows where it is: fed by the covariance of a pose topic, asked before a perception is stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..memory.errors import InvalidFieldError

_SIZE = 36
_YAW = 35


@dataclass(frozen=True)
class Limits:
    """Up to which standard deviation the robot is well localised.

    Raises:
        InvalidFieldError: a limit is not above zero.
    """

    position: float = 0.5
    """Metres, along the worst direction in the plane."""
    yaw: float = 0.3
    """Radians."""

    def __post_init__(self) -> None:
        for name, value in (("position", self.position), ("yaw", self.yaw)):
            if not value > 0.0:
                raise InvalidFieldError(f"localisation_gate.{name}", value, "must be above zero")


class LocalisationGate:
    """Open while the last pose had a covariance within the limits; closed before the first one."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._is_open = False
        self._why = "no pose has come yet"

    @property
    def is_open(self) -> bool:
        """Whether the robot is well localised."""
        return self._is_open

    @property
    def why_closed(self) -> str:
        """The reason in words; empty while open."""
        return self._why

    def feed(self, covariance: Sequence[float]) -> None:
        """Takes the covariance of a pose: 36 numbers, row by row, m² and rad². All zero is a perfect pose."""
        position, yaw = _deviations(covariance)
        if math.isnan(position):
            self._why = "the covariance of the pose is unknown"
        elif not position <= self._limits.position:
            self._why = f"the position is {position:.2f} m uncertain, {self._limits.position:g} are allowed"
        elif not yaw <= self._limits.yaw:
            self._why = f"the yaw is {yaw:.2f} rad uncertain, {self._limits.yaw:g} are allowed"
        else:
            self._why = ""
        self._is_open = not self._why


def _deviations(covariance: Sequence[float]) -> tuple[float, float]:
    """Standard deviations of position and yaw; NaN where the covariance is none."""
    if len(covariance) != _SIZE:
        return math.nan, math.nan
    xx, xy, yy, turn = (float(covariance[index]) for index in (0, 1, 7, _YAW))
    if not (xx >= 0.0 and yy >= 0.0 and turn >= 0.0 and math.isfinite(xy)):
        return math.nan, math.nan
    # The larger eigenvalue of the block of x and y.
    largest = (xx + yy) / 2.0 + math.hypot((xx - yy) / 2.0, xy)
    return math.sqrt(largest), math.sqrt(turn)
