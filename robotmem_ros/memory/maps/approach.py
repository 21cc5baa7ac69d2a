"""Find where a robot can stand to look at a thing: a pure function of an occupancy grid.

Poses lie on a circle around the thing and face it. One is free if no cell that the robot's disc touches is anything but
free; what is unknown, or lies outside of the grid, is not. And the thing is in sight: a mug on a cupboard that the grid
has is seen from before the cupboard, and nothing is seen through a wall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..free_space import FreeSpace, Spot
from ..map_values import OccupancyGrid
from ..models import Pose

BEARINGS = 128
"""Places on a circle that are looked at."""
_STEP, _FARTHEST = 0.25, 3.0
"""Metres between other distances that are tried if there is no pose at the one asked for, and up to which."""
_APART = math.radians(20.0)
"""Least angle, seen from the thing, between two poses that are alternatives."""


class Approach(NamedTuple):
    """From where to look at a thing."""

    poses: tuple[Pose, ...]
    """Poses of the robot, best first; none if `reason` says why."""
    frame_id: str
    map_id: str
    reason: str = ""
    """Why there is none."""


class StandPose(NamedTuple):
    """Where to stand, and where to look: metres and radians in the frame of the grid."""

    x: float
    y: float
    yaw: float

    def pose(self) -> Pose:
        """Return it as a pose on the floor."""
        return Pose(self.x, self.y, 0.0, 0.0, 0.0, math.sin(self.yaw / 2), math.cos(self.yaw / 2))


def approach_poses(
    grid: OccupancyGrid, target: Spot, *, distance: float, radius: float, prefer: Sequence[Spot] = (), n: int = 5
) -> tuple[list[StandPose], str]:
    """Return up to `n` poses from which a robot looks at a target, best first, and if there is none, why.

    Best is what lies in the direction of one of the places to `prefer`, seen from the target, such as those from which
    it was seen; without any, where least of what stands around the target is before it. Poses that differ by little are
    one.

    Args:
        grid: The map, whose frame all positions are in.
        target: What to look at, in metres.
        distance: From the target to the centre of the robot, in metres.
        radius: Of the robot, in metres.
        prefer: Any number of places.
        n: Largest number of poses.
    """
    space = FreeSpace(grid)
    if not space.holds(target):
        return [], f"the target ({target[0]:.2f}, {target[1]:.2f}) lies outside of the map"
    found, clear = _around(space, target, distance, radius)
    if not found:
        return [], _why_none(space, target, distance, radius, clear=clear)
    wanted = [math.atan2(y - target[1], x - target[0]) for x, y in prefer if (x, y) != target]
    ranked = sorted(found, key=lambda spot: (_off(spot[0], wanted), spot[1], spot[0]))
    chosen: list[float] = []
    for bearing, _ in ranked:
        if len(chosen) < n and _off(bearing, chosen, default=math.pi) >= _APART:
            chosen.append(bearing)
    return [_pose(target, bearing, distance) for bearing in chosen], ""


def _around(space: FreeSpace, target: Spot, distance: float, radius: float) -> tuple[list[tuple[float, float]], int]:
    # Bearings from which the target is in sight, each with how much of the line lies in what is not free; and how many
    # places are free at all.
    bearings = np.linspace(-math.pi, math.pi, BEARINGS, endpoint=False)
    spots = np.array(target) + distance * np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
    clear = np.flatnonzero(space.has_room(spots, radius))
    shares = space.obstructed(spots[clear], target)
    found = zip(bearings[clear].tolist(), shares.tolist(), strict=True)
    return [(bearing, share) for bearing, share in found if not math.isnan(share)], len(clear)


def _why_none(space: FreeSpace, target: Spot, distance: float, radius: float, *, clear: int) -> str:
    hidden, narrow = "the target is in sight from no free place", f"no place is free for {radius:g} m around"
    about = hidden if clear else narrow
    others = np.arange(_STEP, _FARTHEST + _STEP / 2, _STEP)
    for other in sorted(others[others > radius].tolist(), key=lambda other: abs(other - distance)):
        if _around(space, target, other, radius)[0]:
            return f"{about} at {distance:g} m; at {other:g} m there is one"
    return f"{about} at {distance:g} m, nor at any distance up to {_FARTHEST:g} m is there one"


def _pose(target: Spot, bearing: float, distance: float) -> StandPose:
    x, y = target[0] + distance * math.cos(bearing), target[1] + distance * math.sin(bearing)
    return StandPose(x, y, math.atan2(target[1] - y, target[0] - x))


def _off(bearing: float, others: Sequence[float], *, default: float = 0.0) -> float:
    # The angle to the nearest of some bearings.
    return min((abs(math.remainder(bearing - other, math.tau)) for other in others), default=default)
