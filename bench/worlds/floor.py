"""Make a floor of equal rooms in rows, with walls between them and a door in the middle of each inner wall."""

from __future__ import annotations

import math
from typing import NamedTuple


class Floor(NamedTuple):
    """Rooms side by side, the first at the origin; places are x + y j, in metres."""

    columns: int
    rows: int
    room: tuple[float, float] = (5.0, 4.0)
    """Width and depth of a room."""
    door: float = 1.0
    """Width of a door."""

    @property
    def size(self) -> tuple[float, float]:
        """Return the width and the depth of the floor."""
        return self.columns * self.room[0], self.rows * self.room[1]

    def centre(self, column: int, row: int) -> complex:
        """Return the middle of a room."""
        return complex((column + 0.5) * self.room[0], (row + 0.5) * self.room[1])

    def wall_between(self, start: complex, end: complex) -> bool:
        """Tell whether a wall stands between two points, and not the door in its middle."""
        for axis, size, across in ((0, *self.room), (1, *self.room[::-1])):
            a, b = (start.real, end.real) if axis == 0 else (start.imag, end.imag)
            c, d = (start.imag, end.imag) if axis == 0 else (start.real, end.real)
            for wall in range(math.floor(min(a, b) / size) + 1, math.floor(max(a, b) / size) + 1):
                share = (wall * size - a) / (b - a)
                crossed = (c + share * (d - c)) % across
                if abs(crossed - across / 2) > self.door / 2:
                    return True
        return False

    def cells(self, resolution: float) -> list[list[bool]]:
        """Return rows of cells, the one at the origin first; true where a wall stands, whose middle is in the cell."""
        columns, rows = (round(side / resolution) + 1 for side in self.size)
        return [[self._is_wall(x * resolution, y * resolution) for x in range(columns)] for y in range(rows)]

    def _is_wall(self, x: float, y: float) -> bool:
        for place, size, across, side, length in (
            (x, self.size[0], y, self.room[0], self.room[1]),
            (y, self.size[1], x, self.room[1], self.room[0]),
        ):
            is_outer = min(place, size - place) < 1e-6
            if abs(place - side * round(place / side)) < 1e-6 and (
                is_outer or abs(across % length - length / 2) > self.door / 2
            ):
                return True
        return False

    def way(self) -> list[complex]:
        """Return the middles of all rooms in a winding line, each next to the one before."""
        return [
            self.centre(column if row % 2 == 0 else self.columns - 1 - column, row)
            for row in range(self.rows)
            for column in range(self.columns)
        ]
