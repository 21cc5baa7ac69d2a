"""Conditions on where: near a place, in a box, in a named area, and since the robot's last visit to a place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..areas import Area
from ..validation import MAX_COORDINATE
from .attributes import Collections
from .condition import Condition, Floats, Mask, Row, Table
from .places import AREA_PATH, POSITION, Field, Place, Point

NEVER = -1
"""The end of the last visit to a place where the robot never was."""


@dataclass(frozen=True)
class Circle(Condition):
    """A position within the radius of a place."""

    place: Place

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has one there."""
        return distance(row, self.place) <= self.place.max_distance

    def mask(self, table: Table) -> Mask:
        """Tell which rows have one there."""
        return np.asarray(distances(table, self.place) <= self.place.max_distance)


@dataclass(frozen=True)
class Box(Condition):
    """A position in a box between two corners of two or three numbers, which belong to it."""

    field: Field
    min_corner: Point
    max_corner: Point

    def mask(self, table: Table) -> Mask:
        """Tell which rows have one there."""
        x, y, z = table.points(self.field)
        low, high = self.min_corner, self.max_corner
        inside = (x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1])
        return inside if len(low) < 3 else inside & (((z >= low[2]) & (z <= high[2])) | np.isnan(z))

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has one there."""
        position = _position(row, self.field)
        return position is not None and all(
            low <= number <= high for low, number, high in zip(self.min_corner, position, self.max_corner, strict=False)
        )


@dataclass(frozen=True)
class InAreas(Condition):
    """In one of some areas: the context says so, or the pose lies in the polygon, whatever the context says."""

    names: tuple[str, ...]
    polygons: Mapping[str, Area]
    field: Field
    """The pose, in the frame of the polygons."""

    def matches(self, row: Row) -> bool:
        """Tell whether a memory is there."""
        position = _position(row, self.field)
        polygons = [self.polygons[name] for name in self.names if name in self.polygons]
        is_inside = position is not None and any(polygon.holds(*position[:2]) for polygon in polygons)
        return is_inside or row.at(AREA_PATH) in self.names

    def mask(self, table: Table) -> Mask:
        """Tell which rows are there."""
        inside = table.late(f".{AREA_PATH}").one_of(self.names)
        x, y, _ = table.points(self.field)
        for name in self.names:
            if name in self.polygons:
                inside |= _crosses_odd(x, y, self.polygons[name])
        return inside


@dataclass(frozen=True)
class SinceLastVisit(Condition):
    """Observed after the end of the robot's last visit to a place, if there was one.

    A robot is at a place when it observes something there: at the times of observation of the memories whose position
    lies within the radius, and of the kept sightings of objects there. Times that lie at most `visit_gap` apart belong
    to one visit. The visit that still goes on, within the gap from now, is the present one; the one before is the last.
    """

    place: Place
    gap: int
    """Nanoseconds."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""
    collections: Collections
    """Collections whose memories tell of visits."""
    end: int = NEVER
    """When the last visit ended: what only the memories together tell, see `table/view.py`."""

    def matches(self, row: Row) -> bool:
        """Tell whether a memory was observed after it."""
        return row.observed_at > self.end

    def mask(self, table: Table) -> Mask:
        """Tell which rows were observed after it."""
        return np.asarray(table.observed_at > self.end)


def distance(row: Row, place: Place) -> float:
    """Return the distance of a memory from a place in metres; infinite if it has no position to compare."""
    position = _position(row, place.field)
    if position is None:
        return math.inf
    return math.sqrt(sum((a - b) * (a - b) for a, b in zip(position, place.target, strict=False)))


def distances(table: Table, place: Place) -> Floats:
    """Return the same of all rows; NaN for those without a position to compare."""
    steps = [part - target for part, target in zip(table.points(place.field), place.target, strict=False)]
    if len(steps) > 2 and np.isnan(steps[2]).any():
        steps[2] = np.nan_to_num(steps[2], nan=0.0)
    squares = steps[0] * steps[0]
    for step in steps[1:]:
        squares += np.multiply(step, step, out=step)
    metres: Floats = np.sqrt(squares, out=squares)
    return metres


def _crosses_odd(x: Floats, y: Floats, area: Area) -> Mask:
    # As in Area.holds: whether a ray to the right crosses an odd number of edges; it crosses none where x is NaN.
    odd = np.zeros(len(x), bool)
    for (ax, ay), (bx, by) in area.edges():
        if ay != by:
            odd ^= ((ay > y) != (by > y)) & (x < ax + (y - ay) / (by - ay) * (bx - ax))
    return odd


def _position(row: Row, field: Field) -> Point | None:
    if (row.frame_id, row.map_id) != (field.frame_id, field.map_id):
        return None
    if field.name == POSITION:
        return row.position
    value = row.at(field.name.removeprefix("context."))
    if not isinstance(value, list) or len(value) not in (2, 3):
        return None
    is_point = all(type(part) in (int, float) and abs(part) <= MAX_COORDINATE for part in value)
    return tuple(map(float, value)) if is_point else None
