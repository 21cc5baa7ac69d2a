"""Count the active memories of each collection, category, tag, label, area, session and kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from .. import validation
from ..areas import AREA_PATH, Area
from ..config.parameters import Parameters
from ..models import Kind
from .conditions import ALL_COLLECTIONS
from .in_areas import InAreas

DEFAULT_N = 1000
MAX_N = 10_000
_GROUP = 100
"""Areas that are counted in one statement: SQLite joins 500 at most."""
_OF_COLUMN = """
    SELECT {shown} AS value, count(*) AS n FROM memories AS m INDEXED BY {index}
    WHERE m.{column} <> '' AND m.status = 'active' AND {here} GROUP BY m.{column}
"""
_TAGS = """
    SELECT t.tag AS value, count(*) AS n FROM memory_tags AS t CROSS JOIN memories AS m ON m.id = t.memory_id
    WHERE m.status = 'active' AND {here} GROUP BY t.tag
"""
_NAMED_AREAS = """
    SELECT v.value AS value, count(*) AS n FROM json_values AS v CROSS JOIN memories AS m ON m.id = v.memory_id
    WHERE v.path_id = (SELECT id FROM json_paths WHERE path = ?) AND typeof(v.value) = 'text'
    AND m.status = 'active' AND {here} GROUP BY v.value
"""
_IN_AREA = """
    SELECT ? AS value, count(*) FROM ({source}) AS s CROSS JOIN memories AS m ON m.id = s.id
    WHERE m.status = 'active' AND {here}
"""
_COLLECTIONS = "SELECT name AS value, facts + perceptions + notes AS n FROM collections AS c WHERE {here} AND n > 0"
_OF_KIND = "SELECT {kind!r} AS value, coalesce(sum({column}), 0) AS n FROM collections AS c WHERE {here}"


class Counted(str, Enum):
    """What memories can be counted by."""

    COLLECTIONS = "collections"
    CATEGORIES = "categories"
    TAGS = "tags"
    LABELS = "labels"
    AREAS = "areas"
    SESSIONS = "sessions"
    KINDS = "kinds"


_COLUMNS = {
    Counted.CATEGORIES: ("category", "m.category", "idx_mem_category"),
    Counted.LABELS: ("label_key", "min(m.label)", "idx_mem_label_key"),
    Counted.SESSIONS: ("session_id", "m.session_id", "idx_mem_session"),
}
_KINDS = {Kind.FACT: "facts", Kind.PERCEPTION: "perceptions", Kind.NOTE: "notes"}


class Count(NamedTuple):
    """How many active memories have a value."""

    value: str
    memories: int


@dataclass(frozen=True)
class CountQuery:
    """A validated request for counts."""

    field: Counted
    collection: str
    """Empty for all."""
    n: int


def parse_counts(field: object, collection: object, n: object) -> CountQuery:
    """Check all fields; no collection and `*` mean all, `n` is cut to 1..10000 and 0 means 1000.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    named = validation.name("collection", collection)
    wanted = validation.whole("n", n)
    return CountQuery(
        validation.member("field", field, Counted),
        "" if named == ALL_COLLECTIONS else named,
        DEFAULT_N if wanted == 0 else min(max(wanted, 1), MAX_N),
    )


def read_counts(
    connection: sqlite3.Connection, query: CountQuery, parameters: Parameters, areas: Mapping[str, Area]
) -> tuple[Count, ...]:
    """Count, largest first and then in alphabetical order; what no memory has is left out."""
    if query.field is Counted.AREAS:
        counts = [*_in_named_areas(connection, query, areas), *_in_polygons(connection, query, parameters, areas)]
        return tuple(sorted(counts, key=lambda one: (-one.memories, one.value))[: query.n])
    of_rows = query.field in {Counted.COLLECTIONS, Counted.KINDS}
    here, arguments = _here("c.name" if of_rows else "m.collection", query)
    sql = _statement(query.field).format(here=here)
    found = connection.execute(
        f"SELECT value, n FROM ({sql}) WHERE n > 0 ORDER BY n DESC, value LIMIT ?",
        (*arguments * sql.count(here), query.n),
    )
    return tuple(Count(value, n) for value, n in found)


def _here(column: str, query: CountQuery) -> tuple[str, tuple[str, ...]]:
    # The unary plus keeps the planner from going through all memories of a collection.
    return (f"+{column} = ?", (query.collection,)) if query.collection else ("true", ())


def _statement(field: Counted) -> str:
    if field is Counted.COLLECTIONS:
        return _COLLECTIONS
    if field is Counted.TAGS:
        return _TAGS
    if field is Counted.KINDS:
        return " UNION ALL ".join(
            _OF_KIND.format(kind=kind.value, column=column, here="{here}") for kind, column in _KINDS.items()
        )
    column, shown, index = _COLUMNS[field]
    return _OF_COLUMN.format(column=column, shown=shown, index=index, here="{here}")


def _in_named_areas(connection: sqlite3.Connection, query: CountQuery, polygons: Mapping[str, Area]) -> list[Count]:
    here, arguments = _here("m.collection", query)
    found = connection.execute(_NAMED_AREAS.format(here=here), (AREA_PATH, *arguments))
    return [Count(value, n) for value, n in found if value not in polygons]


def _in_polygons(
    connection: sqlite3.Connection, query: CountQuery, parameters: Parameters, polygons: Mapping[str, Area]
) -> list[Count]:
    # As the condition `areas` of a recall sees them: an index lists each memory once.
    here, values = _here("m.collection", query)
    listed = [
        (name, condition.source)
        for name in sorted(polygons)
        for condition in InAreas((name,), polygons, parameters).conditions(connection)
        if condition.source
    ]
    counts: list[Count] = []
    for first in range(0, len(listed), _GROUP):
        some = listed[first : first + _GROUP]
        sql = " UNION ALL ".join(_IN_AREA.format(source=source.sql, here=here) for _, source in some)
        arguments = [value for name, source in some for value in (name, *source.arguments, *values)]
        counts += [Count(*row) for row in connection.execute(sql, arguments)]
    return [one for one in counts if one.memories]
