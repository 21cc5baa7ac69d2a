"""What of an occupancy grid is free: where a disc has room, and what is in sight of what.

A line of sight is flat, as the grid is. It may end in cells that are not free: those in which the thing at its end
stands, such as a cupboard. Once it has left free cells, though, it meets none again, else a wall lies between.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .map_values import OccupancyGrid

FREE = 25
"""The greatest value of a free cell, as map_server reads maps by default: its `free_thresh`, in per cent."""
_NO_LENGTH = 1e-9
"""Cells of a line that the line is in for a smaller share of its length only touch it."""

Spot = tuple[float, float]
"""x, y in metres."""
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class FreeSpace:
    """The free cells of a grid. All positions are metres in its frame; what lies outside of it is not free."""

    def __init__(self, grid: OccupancyGrid) -> None:
        cells = grid.array()
        self._free: Mask = (cells >= 0) & (cells <= FREE)
        self._origin, self._resolution = grid.origin, grid.resolution

    def holds(self, spot: Spot) -> bool:
        """Tell whether a position lies in the grid."""
        height, width = self._free.shape
        x, y = map(float, self._in_cells(np.array(spot)))
        return bool(0 <= x < width and 0 <= y < height)

    def has_room(self, spots: Floats, radius: float) -> Mask:
        """Return of which positions, shape (n, 2), the disc of a radius touches only free cells."""
        cells, radius = self._in_cells(spots), radius / self._resolution
        reach = np.arange(-math.ceil(radius) - 1, math.ceil(radius) + 2)
        whole = np.floor(cells).astype(np.int64)
        x, y = (whole[:, axis, None] + reach for axis in (0, 1))
        beside, above = (
            np.maximum(np.maximum(side - cells[:, axis, None], cells[:, axis, None] - side - 1), 0.0)
            for axis, side in enumerate((x, y))
        )
        touches = beside[:, None, :] ** 2 + above[:, :, None] ** 2 <= radius * radius
        return np.asarray((self._at(x[:, None, :], y[:, :, None]) | ~touches).all(axis=(1, 2)))

    def obstructed(self, starts: Floats, end: Spot) -> Floats:
        """Return the share of each line to an end that is not free; NaN if the end is not in sight.

        Args:
            starts: Positions, shape (n, 2).
            end: What is looked at.
        """
        starts, target = self._in_cells(starts), self._in_cells(np.array(end))
        ends = np.ones((len(starts), 1))
        parts = [0.0 * ends, *(_crossings(starts[:, axis, None], float(target[axis])) for axis in (0, 1)), ends]
        at = np.sort(np.concatenate(parts, axis=1), axis=1)
        lengths = np.diff(at)
        middle = (at[:, :-1] + at[:, 1:]) / 2
        x, y = (starts[:, axis, None] + middle * (target[axis] - starts[:, axis, None]) for axis in (0, 1))
        is_free = self._at(np.floor(x).astype(np.int64), np.floor(y).astype(np.int64))
        # A cell that the line only touches counts as the one before.
        entered = np.maximum.accumulate(np.where(lengths > _NO_LENGTH, np.arange(lengths.shape[1]), 0), axis=1)
        is_free = np.take_along_axis(is_free, entered, axis=1)
        is_hidden = (is_free[:, 1:] & ~is_free[:, :-1]).any(axis=1)
        return np.where(is_hidden, np.nan, (lengths * ~is_free).sum(axis=1))

    def is_in_sight(self, start: Spot, end: Spot) -> bool:
        """Tell whether nothing lies between two positions."""
        return not math.isnan(self.obstructed(np.array([start]), end)[0])

    def _in_cells(self, points: Floats) -> Floats:
        # Points of the frame in cells along x and y of the grid.
        x, y, yaw = self._origin
        turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        return np.asarray((points - (x, y)) @ turn / self._resolution)

    def _at(self, x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> Mask:
        height, width = self._free.shape
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        return np.asarray(inside & self._free[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)])


def _crossings(low: Floats, high: float) -> Floats:
    # Where lines cross the borders of cells along an axis, as shares of their length; 1 fills the rows.
    first, last = np.floor(np.minimum(low, high)) + 1, np.maximum(low, high)
    borders = first + np.arange(max(math.ceil(float((last - first).max(initial=0.0))), 0) + 1)
    step = np.where(high == low, 1.0, high - low)
    return np.where(borders < last, (borders - low) / step, 1.0)
