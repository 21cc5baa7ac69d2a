"""Finds points near a place without looking at all of them: points in cubes, as wide as the search reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from .geometry import Point

_AROUND = tuple(product((-1, 0, 1), repeat=3))
_Cell = tuple[float, float, float]


class Grid:
    """Points by the cube in which they lie; `width` is that of the cubes, in metres."""

    def __init__(self, points: Sequence[Point], width: float) -> None:
        # The margin covers what is lost by rounding.
        self._width = width * (1 + 1e-6)
        self._cells: defaultdict[_Cell, list[int]] = defaultdict(list)
        for index, point in enumerate(points):
            self._cells[self._cell(point)].append(index)

    def around(self, place: Point) -> list[int]:
        """The indices, ascending, of all points within `width` of a place, and of some beyond."""
        x, y, z = self._cell(place)
        found: list[int] = []
        for across, along, up in _AROUND:
            found += self._cells.get((x + across, y + along, z + up), ())
        found.sort()
        return found

    def _cell(self, point: Point) -> _Cell:
        x, y, z = point
        return (x // self._width, y // self._width, z // self._width)
