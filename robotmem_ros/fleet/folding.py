"""Fold results of the same text and place of one robot, as `memory/search/folding.py` does.

Poses are as near as `object_radius`. Other places of a memory, those in its context, must be the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from ..memory.conditions.places import POSITION
from ..memory.config.parameters import Parameters
from ..memory.search.folding import MAX_FOLDED_IDS
from ..memory.search.query import Query
from .ask import FROM, NEWEST_FIRST
from .conditions import Sql, all_of, join, position_at

_PLACES = """jsonb_build_array(
    m.frame_id, m.map_id, m.position IS NULL, CASE WHEN m.confirmed IS NOT NULL THEN m.uuid END,
    CASE WHEN m.position IS NULL OR jsonb_typeof(m.body #> '{{context,spatial}}') <> 'object'
    THEN m.body #> '{{context,spatial}}' ELSE (m.body #> '{{context,spatial}}') - 'area' END, {more}
)::text"""
"""Places as texts that must be the same. An object is a thing at a place of its own."""


class Twin(NamedTuple):
    """What a memory is compared by."""

    robot: int
    text: UUID
    places: str
    position: Sequence[float] | None
    reach: float
    """Metres."""

    def is_for(self, twin: Twin) -> bool:
        """Tell whether the memory stands for another one."""
        if self[:3] != twin[:3] or self.position is None or twin.position is None:
            return self[:3] == twin[:3]
        return math.dist(self.position, twin.position) <= self.reach


@dataclass(frozen=True)
class Folding:
    """How results of a query are folded."""

    query: Query
    parameters: Parameters

    @property
    def columns(self) -> Sql:
        """Return what a `Twin` has of a memory, but for its robot."""
        rules = self.parameters.label_rules()
        position = "m.position" if self.query.compares_places else "NULL::double precision[]"
        reach = "coalesce((%s::jsonb ->> m.label_key)::double precision, %s::double precision)"
        metres = Sql(reach, (json.dumps(rules.radii), rules.default_radius))
        return join(f"{self._twin}, ", self._places, f", {position}, ", metres)

    def apart_from(self, heads: Sequence[Twin], before: str = "true") -> Sql:
        """Require a memory that none of some others stands for."""
        alike = join("(SELECT bool_or(", self._alike("e"), ") FROM ", _table(heads, "e"), f" WHERE {before})")
        return join("NOT coalesce(", alike, ", false)")

    def groups(self, heads: Sequence[Twin], condition: Sql) -> Sql:
        """Number the memories, and tell of each the newest that it stands for, how many, and their ids, newest first.

        What an earlier one stands for is left out.
        """
        newest = f"ORDER BY {NEWEST_FIRST}"
        # Of one text alone, no two of the memories stand for the same one.
        apart = [self.apart_from(heads, "e.n < h.n")] if self.query.compares_places else []
        return join(
            "SELECT h.n, h.robot, g.* FROM ", _table(heads, "h"),
            f" CROSS JOIN LATERAL (SELECT (array_agg(m.uuid {newest}))[1] AS uuid, count(*) AS size, "
            f"(array_agg(m.memory_id {newest}))[2:{MAX_FOLDED_IDS + 1}] AS others{FROM}WHERE ",
            all_of((condition, self._alike("h"), *apart)), ") AS g",
        )  # fmt: skip

    def _alike(self, head: str) -> Sql:
        places = self._places
        test = (
            f"(m.robot, {self._twin}) = ({head}.robot, {head}.twin) AND {places.sql} = {head}.places AND "
            f"coalesce(robotmem.square_between(m.position, {head}.position) <= {head}.reach * {head}.reach, "
            f"{head}.position IS NULL)"
        )
        return Sql(test, places.arguments)

    @property
    def _twin(self) -> str:
        # Without folding each memory stands for itself.
        return "m.twin" if self.query.fold else "m.uuid"

    @property
    def _places(self) -> Sql:
        if not self.query.compares_places:
            return Sql("''")
        place = self.query.spatial_sort
        extra = Sql("NULL") if place is None or place.field.name == POSITION else position_at(place.field)
        return Sql(_PLACES.format(more=extra.sql), extra.arguments)


def _table(heads: Sequence[Twin], alias: str) -> Sql:
    row = "(%s::integer, %s::integer, %s::uuid, %s::text, %s::double precision[], %s::double precision)"
    values = tuple(value for number, head in enumerate(heads) for value in (number, *head))
    columns = "n, robot, twin, places, position, reach"
    return Sql(f"(VALUES {', '.join([row] * len(heads))}) AS {alias} ({columns})", values)
