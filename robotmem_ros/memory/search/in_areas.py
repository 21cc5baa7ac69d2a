"""The condition to be in a named area: by the `spatial.area` of the context, or by the pose."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..areas import AREA_PATH, Area
from ..config.parameters import Parameters
from ..errors import InvalidFieldError, did_you_mean
from .condition import Condition, Source, Wanted, any_of, distinct, joined
from .places import POSITION, Field, find_space, overlapping

_TAGGED = """
    SELECT memory_id AS id FROM json_values WHERE path_id = (SELECT id FROM json_paths WHERE path = ?) AND value = ?
"""
_NAMED = 20


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


def _tagged(name: str) -> Condition:
    source = Source(_TAGGED, (AREA_PATH, name))
    return Condition(f"EXISTS ({source.sql} AND memory_id = m.id)", source.arguments, source)


def _inside(row: str, area: Area) -> Source:
    # As in Area.holds: whether a ray to the right crosses an odd number of edges.
    crossed = f"({row}.y < ?) <> ({row}.y < ?) AND {row}.x < ? + ({row}.y - ?) / ? * ?"
    edges = [Condition(crossed, (ay, by, ax, ay, by - ay, bx - ax)) for (ax, ay), (bx, by) in area.edges() if ay != by]
    crossings = joined("+", edges)
    return Source(f"{row}.x IS NOT NULL AND {crossings.sql} % 2 = 1", crossings.arguments)
