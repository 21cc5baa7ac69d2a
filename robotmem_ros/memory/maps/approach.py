"""Find where a robot can stand to look at a thing: a pure function of an occupancy grid.

Poses lie on a circle around the thing and face it. One is free if no cell that the robot's disc touches is anything but
free; what is unknown, or lies outside of the grid, is not. The thing is in sight if the cells on the line to it are
free, up to those in which it stands itself: once the line has left free cells, it meets none again. So a mug on a
cupboard that the grid has is seen from before the cupboard, and nothing is seen through a wall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..map_values import OccupancyGrid
from ..models import Pose

FREE = 25
"""The greatest value of a free cell, as map_server reads maps by default: its `free_thresh`, in per cent."""
BEARINGS = 128
"""Places on a circle that are looked at."""
_STEP, _FARTHEST = 0.25, 3.0
"""Metres between other distances that are tried if there is no pose at the one asked for, and up to which."""
_APART = math.radians(20.0)
"""Least angle, seen from the thing, between two poses that are alternatives."""
_NO_LENGTH = 1e-9
"""Cells of a line that the line is in for a smaller share of its length only touch it."""

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Spot = tuple[float, float]
"""x, y in metres."""


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
    free = _free_cells(grid)
    if not _holds(free, _in_cells(grid, np.array([target]))):
        return [], f"the target ({target[0]:.2f}, {target[1]:.2f}) lies outside of the map"
    found, clear = _around(grid, free, target, distance, radius)
    if not found:
        return [], _why_none(grid, free, target, distance, radius, clear=clear)
    wanted = [math.atan2(y - target[1], x - target[0]) for x, y in prefer if (x, y) != target]
    ranked = sorted(found, key=lambda spot: (_off(spot[0], wanted), spot[1], spot[0]))
    chosen: list[float] = []
    for bearing, _ in ranked:
        if len(chosen) < n and _off(bearing, chosen, default=math.pi) >= _APART:
            chosen.append(bearing)
    return [_pose(target, bearing, distance) for bearing in chosen], ""


def _around(
    grid: OccupancyGrid, free: Mask, target: Spot, distance: float, radius: float
) -> tuple[list[tuple[float, float]], int]:
    # Bearings from which the target is in sight, each with how much of the line lies in what is not free; and how many
    # places are free at all.
    bearings = np.linspace(-math.pi, math.pi, BEARINGS, endpoint=False)
    spots = np.array(target) + distance * np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
    cells, end = _in_cells(grid, spots), _in_cells(grid, np.array([target]))[0]
    clear = np.flatnonzero(_has_room(free, cells, radius / grid.resolution))
    shares = _hidden_shares(free, cells[clear], end)
    found = zip(bearings[clear].tolist(), shares.tolist(), strict=True)
    return [(bearing, share) for bearing, share in found if not math.isnan(share)], len(clear)


def _why_none(grid: OccupancyGrid, free: Mask, target: Spot, distance: float, radius: float, *, clear: int) -> str:
    hidden, narrow = "the target is in sight from no free place", f"no place is free for {radius:g} m around"
    about = hidden if clear else narrow
    others = np.arange(_STEP, _FARTHEST + _STEP / 2, _STEP)
    for other in sorted(others[others > radius].tolist(), key=lambda other: abs(other - distance)):
        if _around(grid, free, target, other, radius)[0]:
            return f"{about} at {distance:g} m; at {other:g} m there is one"
    return f"{about} at {distance:g} m, nor at any distance up to {_FARTHEST:g} m is there one"


def _pose(target: Spot, bearing: float, distance: float) -> StandPose:
    x, y = target[0] + distance * math.cos(bearing), target[1] + distance * math.sin(bearing)
    return StandPose(x, y, math.atan2(target[1] - y, target[0] - x))


def _off(bearing: float, others: Sequence[float], *, default: float = 0.0) -> float:
    # The angle to the nearest of some bearings.
    return min((abs(math.remainder(bearing - other, math.tau)) for other in others), default=default)


def _free_cells(grid: OccupancyGrid) -> Mask:
    cells = grid.array()
    return np.asarray((cells >= 0) & (cells <= FREE))


def _in_cells(grid: OccupancyGrid, points: Floats) -> Floats:
    # Points of the frame in cells along x and y of the grid.
    x, y, yaw = grid.origin
    along = points - (x, y)
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    return np.asarray(along @ turn / grid.resolution)


def _holds(free: Mask, points: Floats) -> bool:
    height, width = free.shape
    x, y = np.floor(points).T
    return bool(((x >= 0) & (x < width) & (y >= 0) & (y < height)).all())


def _at(free: Mask, x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> Mask:
    height, width = free.shape
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return np.asarray(inside & free[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)])


def _has_room(free: Mask, spots: Floats, radius: float) -> Mask:
    # Which discs touch only free cells; all in cells.
    reach = np.arange(-math.ceil(radius) - 1, math.ceil(radius) + 2)
    whole = np.floor(spots).astype(np.int64)
    x, y = (whole[:, axis, None] + reach for axis in (0, 1))
    beside, above = (
        np.maximum(np.maximum(side - spots[:, axis, None], spots[:, axis, None] - side - 1), 0.0)
        for axis, side in enumerate((x, y))
    )
    touches = beside[:, None, :] ** 2 + above[:, :, None] ** 2 <= radius * radius
    return np.asarray((_at(free, x[:, None, :], y[:, :, None]) | ~touches).all(axis=(1, 2)))


def _hidden_shares(free: Mask, starts: Floats, end: Floats) -> Floats:
    # How much of each line to the end lies in what is not free; NaN if the end is hidden by that.
    ends = np.ones((len(starts), 1))
    parts = [0.0 * ends, *(_crossings(starts[:, axis, None], float(end[axis])) for axis in (0, 1)), ends]
    at = np.sort(np.concatenate(parts, axis=1), axis=1)
    lengths = np.diff(at)
    x, y = (
        starts[:, axis, None] + (at[:, :-1] + at[:, 1:]) / 2 * (end[axis] - starts[:, axis, None]) for axis in (0, 1)
    )
    is_free = _at(free, np.floor(x).astype(np.int64), np.floor(y).astype(np.int64))
    # A cell that the line only touches counts as the one before.
    entered = np.maximum.accumulate(np.where(lengths > _NO_LENGTH, np.arange(lengths.shape[1]), 0), axis=1)
    is_free = np.take_along_axis(is_free, entered, axis=1)
    is_hidden = (is_free[:, 1:] & ~is_free[:, :-1]).any(axis=1)
    return np.where(is_hidden, np.nan, (lengths * ~is_free).sum(axis=1))


def _crossings(low: Floats, high: float) -> Floats:
    # Where lines cross the borders of cells along an axis, as shares of their length; 1 fills the rows.
    first, last = np.floor(np.minimum(low, high)) + 1, np.maximum(low, high)
    borders = first + np.arange(max(math.ceil(float((last - first).max(initial=0.0))), 0) + 1)
    step = np.where(high == low, 1.0, high - low)
    return np.where(borders < last, (borders - low) / step, 1.0)
