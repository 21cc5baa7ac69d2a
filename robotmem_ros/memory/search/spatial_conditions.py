"""Conditions on where: near a place, in a box, in a named area, and since the robot's last visit to a place."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..areas import AREA_PATH, Area
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, did_you_mean
from ..storage import bulk
from .candidates import NONE, Condition, Source, Wanted, any_of, distinct, joined
from .places import (
    POSITION,
    Box,
    Field,
    Place,
    find_space,
    greatest_square,
    overlapping,
    placed,
    squared_distance,
    unknown_positions,
    within,
)

_TAGGED = """
    SELECT memory_id AS id FROM json_values WHERE path_id = (SELECT id FROM json_paths WHERE path = ?) AND value = ?
"""
_NAMED = 20
_NEVER = -1


@dataclass(frozen=True)
class Near(Wanted):
    """A position within the radius of a place."""

    place: Place

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        space = find_space(connection, self.place.field)
        return (NONE if space.id is None else within(self.place, space),)

    def unknown(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say that no memory has the field, or that positions in other frames were not compared."""
        return unknown_positions(connection, self.place.field)


@dataclass(frozen=True)
class Within(Wanted):
    """A position in a box."""

    box: Box

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        space = find_space(connection, self.box.field)
        if space.id is None:
            return (NONE,)
        test = "p.x BETWEEN ? AND ? AND p.y BETWEEN ? AND ?"
        limits: tuple[float, ...] = (self.box.least[0], self.box.most[0], self.box.least[1], self.box.most[1])
        if len(self.box.least) > 2:
            test += " AND (p.z IS NULL OR p.z BETWEEN ? AND ?)"
            limits += self.box.least[2], self.box.most[2]
        return (placed(space, test, limits, overlapping(space, limits)),)

    def unknown(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say that no memory has the field, or that positions in other frames were not compared."""
        return unknown_positions(connection, self.box.field)


@dataclass(frozen=True)
class InAreas(Wanted):
    """In one of some areas: their context says so, or their pose lies in the polygon, whatever the context says."""

    names: tuple[str, ...]
    polygons: Mapping[str, Area]
    parameters: Parameters

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL.

        Raises:
            InvalidFieldError: there is no area of a name, neither in the file nor in the context of a memory.
        """
        return (any_of([self._in_area(connection, name) for name in self.names]),)

    def _in_area(self, connection: sqlite3.Connection, name: str) -> Condition:
        tagged = _tagged(name)
        if name in self.polygons:
            return self._placed(connection, self.polygons[name], tagged)
        if not connection.execute(f"{_TAGGED} LIMIT 1", (AREA_PATH, name)).fetchone():
            raise InvalidFieldError("areas", name, self._known(connection, name))
        return tagged

    def _placed(self, connection: sqlite3.Connection, area: Area, tagged: Condition) -> Condition:
        frame_id, map_id = self.parameters.memory_frame, self.parameters.map_id
        x_values, y_values = zip(*area.corners, strict=True)
        limits = (min(x_values), max(x_values), min(y_values), max(y_values))
        inside = _inside("m", area)
        check = Condition(f"m.frame_id = ? AND m.map_id = ? AND {inside.sql}", (frame_id, map_id, *inside.arguments))
        space = find_space(connection, Field("areas", POSITION, frame_id, map_id, frame_id))
        source = tagged.source
        if space.id is not None and source is not None:
            box, inside = overlapping(space, limits), _inside("p", area)
            # Those that the context names are left out here, so that each is listed once.
            source = Source(
                f"{source.sql} UNION ALL "
                f"SELECT p.memory_id FROM ({box.sql}) AS b CROSS JOIN positions AS p ON p.id = b.id "
                f"WHERE {inside.sql} AND NOT EXISTS ({source.sql} AND memory_id = p.memory_id)",
                (*source.arguments, *box.arguments, *inside.arguments, *source.arguments),
            )
        return Condition(*joined("OR", (tagged, check))[:2], source)

    def _known(self, connection: sqlite3.Connection, name: str) -> str:
        path = connection.execute("SELECT id FROM json_paths WHERE path = ?", (AREA_PATH,)).fetchone() or (0,)
        known = sorted({*self.polygons, *distinct(connection, "json_values", "value", f"path_id = {int(path[0])}")})
        if not known:
            return "is unknown; there are no areas: the parameter areas_file names a file with some"
        others = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        return f"is unknown{did_you_mean(name, known)}; there are {', '.join(known[:_NAMED])}{others}"


@dataclass
class SinceLastVisit(Wanted):
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
    collections: tuple[str, tuple[object, ...]]
    """SQL for the memories that count, with its arguments."""
    _found: int | None = field(default=None, init=False)

    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL."""
        end = self._end(connection)
        source = Source("SELECT id FROM memories WHERE observed_at > ?", (end,))
        return (Condition("m.observed_at > ?", (end,), source),) if end != _NEVER else ()

    def notes(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say that there was no earlier visit, so that the condition left nothing out."""
        if self._end(connection) == _NEVER:
            yield "since_last_visit: nothing tells of an earlier visit, so the time is not limited"

    def unknown(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say that no memory has the field, or that positions in other frames were not compared."""
        return unknown_positions(connection, self.place.field)

    def _end(self, connection: sqlite3.Connection) -> int:
        # Once for each query: it runs on one snapshot.
        if self._found is None:
            self._found = self._last_end(connection)
        return self._found

    def _last_end(self, connection: sqlite3.Connection) -> int:
        times = np.sort(self._times(connection))[::-1]
        starts = np.concatenate(([self.now], times[:-1])) if len(times) else times
        (gaps,) = np.nonzero(starts - times > self.gap)
        return int(times[gaps[0]]) if len(gaps) else _NEVER

    def _times(self, connection: sqlite3.Connection) -> npt.NDArray[np.int64]:
        space = find_space(connection, self.place.field)
        there = within(self.place, space).source if space.id is not None else None
        if there is None:
            return np.array([], np.int64)
        check, arguments = self.collections
        memories = f"({there.sql}) AS s CROSS JOIN memories AS m ON m.id = s.id"
        active = f"m.status = 'active' AND {check}"
        sql = f"SELECT m.observed_at AS id FROM {memories} WHERE {active} AND m.observed_at <= ?"
        limits = (*there.arguments, *arguments, self.now)
        if self.place.field.name == POSITION:
            squared, square_arguments = squared_distance(self.place.target)
            sql += (
                f" UNION ALL SELECT p.observed_at FROM {memories} CROSS JOIN sightings AS p ON p.memory_id = m.id "
                f"WHERE {active} AND p.observed_at <= ? AND {squared} <= ?"
            )
            limits += (*limits, *square_arguments, greatest_square(self.place.max_distance))
        return bulk.array(connection, sql, limits)


def _tagged(name: str) -> Condition:
    source = Source(_TAGGED, (AREA_PATH, name))
    return Condition(f"EXISTS ({source.sql} AND memory_id = m.id)", source.arguments, source)


def _inside(row: str, area: Area) -> Source:
    # As in Area.holds: whether a ray to the right crosses an odd number of edges.
    crossed = f"({row}.y < ?) <> ({row}.y < ?) AND {row}.x < ? + ({row}.y - ?) / ? * ?"
    edges = [Condition(crossed, (ay, by, ax, ay, by - ay, bx - ax)) for (ax, ay), (bx, by) in area.edges() if ay != by]
    crossings = joined("+", edges)
    return Source(f"{row}.x IS NOT NULL AND {crossings.sql} % 2 = 1", crossings.arguments)
