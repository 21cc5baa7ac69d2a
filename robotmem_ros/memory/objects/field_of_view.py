"""Whether a place lies clearly within what a sensor surely sees: a range and two opening angles around its axis."""

from __future__ import annotations

import math

from .geometry import Point, cross, difference, dot, unit
from .view import View

_CLEARLY = 0.9
"""In view is what lies within this share of the range and of the angles."""
_TOO_NEAR = 0.2
"""Metres; what is so near to the sensor may lie below or behind its picture."""


def in_view(view: View, position: Point) -> bool:
    """Whether a position lies clearly in a view.

    Up to half a turn wide, the edges of a view are those of a picture; a wider one is a band around the sensor.
    """
    to = difference(position, view.origin)
    if not _TOO_NEAR <= math.hypot(*to) <= view.reach * _CLEARLY:
        return False
    ahead, left, up = _parts(view, to)
    across = math.atan2(left, ahead)
    level = ahead if view.horizontal < math.pi else math.hypot(ahead, left)
    return _within(across, view.horizontal) and _within(math.atan2(up, level), view.vertical)


def _parts(view: View, vector: Point) -> Point:
    """How far a vector goes ahead, to the left and up, as the sensor has them; metres."""
    ahead = unit(view.direction)
    left = unit(cross(view.up, ahead))
    return dot(vector, ahead), dot(vector, left), dot(vector, cross(ahead, left))


def _within(angle: float, opening: float) -> bool:
    # What goes all around has no edge.
    return opening >= 2 * math.pi or abs(angle) <= opening / 2 * _CLEARLY
