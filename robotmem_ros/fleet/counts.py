"""Count what the fleet remembers."""

from __future__ import annotations

from collections.abc import Mapping

from ..memory.areas import Area
from ..memory.conditions.attributes import Collections
from ..memory.conditions.spatial import InAreas
from ..memory.search.counts import Count, CountQuery
from ..memory.search.query import pose_field
from ..memory.search.request import CountField
from .ask import FROM, Asker, ask
from .connection import Connection

_VALUES = {
    CountField.COLLECTIONS: "m.collection",
    CountField.CATEGORIES: "m.category",
    CountField.TAGS: "jsonb_object_keys(CASE jsonb_typeof(m.body -> 'tags') WHEN 'object' THEN m.body -> 'tags' END)",
    CountField.LABELS: "m.label_key",
    CountField.AREAS: "m.body #>> '{context,spatial,area}'",
    CountField.SESSIONS: "m.session_id",
    CountField.KINDS: "m.type",
}
"""Expressions by which memories are counted."""


def counts(connection: Connection, query: CountQuery, asker: Asker, areas: Mapping[str, Area]) -> list[Count]:
    """Return how many active memories each value has.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    conditions = [Collections((query.collection,), suffices=True)] if query.collection else []
    condition = asker.candidates(conditions)
    rows = ask(
        connection, f"SELECT value, count(*) FROM (SELECT {_VALUES[query.field]} AS value{FROM}WHERE ", condition,
        ") AS v WHERE value <> '' GROUP BY value",
    )  # fmt: skip
    entries = [Count(*row) for row in rows]
    if query.field is not CountField.AREAS:
        return entries
    field = pose_field("areas", asker.parameters)
    for name in areas:
        inside = asker.candidates([*conditions, InAreas((name,), areas, field)])
        entries = [count for count in entries if count.value != name]
        entries += [Count(name, *row) for row in ask(connection, "SELECT count(*)", FROM, "WHERE ", inside)]
    return entries
