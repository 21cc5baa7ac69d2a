"""The map of the house: walls around its rooms, and doors where the patrol goes through them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from demo.house import LAP, ROOMS

RESOLUTION = 0.05
"""Metres per cell."""
_MARGIN = 0.5
"""Metres of the map around the house, which the robot does not know."""
_WALL, _DOOR = 0.1, 0.9
"""Metres."""
_UNKNOWN, _FREE, _OCCUPIED = -1, 0, 100

ORIGIN = (min(room.x[0] for room in ROOMS) - _MARGIN, min(room.y[0] for room in ROOMS) - _MARGIN)
"""Corner of the first cell, in metres."""


def floor_plan() -> npt.NDArray[np.int8]:
    """Return the cells of the map, the row of the least y first."""
    far = (max(room.x[1] for room in ROOMS) + _MARGIN, max(room.y[1] for room in ROOMS) + _MARGIN)
    width, height = (round((end - start) / RESOLUTION) for start, end in zip(ORIGIN, far, strict=True))
    cells = np.full((height, width), _UNKNOWN, np.int8)
    for room in ROOMS:
        _fill(cells, room.x, room.y, _OCCUPIED)
    half = _WALL / 2
    for room in ROOMS:
        _fill(cells, (room.x[0] + half, room.x[1] - half), (room.y[0] + half, room.y[1] - half), _FREE)
    for x, y in LAP:
        if any(x in room.x and room.y[0] < y < room.y[1] for room in ROOMS):
            _fill(cells, (x - _WALL, x + _WALL), (y - _DOOR / 2, y + _DOOR / 2), _FREE)
    return cells


def _fill(cells: npt.NDArray[np.int8], x: tuple[float, float], y: tuple[float, float], value: int) -> None:
    (left, right), (low, high) = (
        [round((metres - start) / RESOLUTION) for metres in span] for span, start in zip((x, y), ORIGIN, strict=True)
    )
    cells[low:high, left:right] = value
