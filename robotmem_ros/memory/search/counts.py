"""Count the active memories of each collection, category, tag, label, area, session and kind."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from .. import validation
from ..areas import AREA_PATH, Area
from ..config.parameters import Parameters
from ..models import Kind
from ..storage import collection_rows
from ..storage.snapshot import Snapshot
from .places import pose_field
from .spatial_conditions import InAreas

DEFAULT_N = 1000
MAX_N = 10_000
_GROUP = 100
"""Areas that are counted in one statement: SQLite joins 500 at most."""
_INACTIVE = "SELECT id FROM memories INDEXED BY idx_mem_inactive WHERE status <> 'active'"
_IN_COLLECTION = "SELECT id FROM memories INDEXED BY idx_mem_collection WHERE collection"
_OTHERS = f"{_IN_COLLECTION} < ? UNION ALL {_IN_COLLECTION} > ? UNION ALL {_INACTIVE} AND collection = ?"
_MEMBERS = f"{_IN_COLLECTION} = ? AND status = 'active'"
_IN_AREA = """
    SELECT ? AS value, count(*) FROM ({source}) AS s CROSS JOIN memories AS m ON m.id = s.id
    WHERE m.status = 'active' AND {here}
"""
_LABEL = "(SELECT label FROM memories INDEXED BY idx_mem_label_key WHERE label_key = value AND label_key <> '' LIMIT 1)"


class Counted(str, Enum):
    """What memories can be counted by."""

    COLLECTIONS = "collections"
    CATEGORIES = "categories"
    TAGS = "tags"
    LABELS = "labels"
    AREAS = "areas"
    SESSIONS = "sessions"
    KINDS = "kinds"


class _Values(NamedTuple):
    """The values of a field, in SQL."""

    all: str
    """A SELECT of them from an index alone, one for each memory that has one, active or not."""
    of: str
    """What to join to ids `s.id` for the values of these memories."""
    shown: str = "value"
    """How a value is shown."""


def _column(name: str, index: str, shown: str = "value") -> _Values:
    return _Values(
        f"SELECT {name} AS value FROM memories INDEXED BY {index} WHERE {name} <> ''",
        f"(SELECT id, {name} AS value FROM memories) AS v ON v.id = s.id AND v.value <> ''",
        shown,
    )


_VALUES = {
    Counted.CATEGORIES: _column("category", "idx_mem_category"),
    Counted.LABELS: _column("label_key", "idx_mem_label_key", _LABEL),
    Counted.SESSIONS: _column("session_id", "idx_mem_session"),
    Counted.TAGS: _Values(
        "SELECT tag AS value FROM memory_tags",
        "(SELECT memory_id, tag AS value FROM memory_tags) AS v ON memory_id = s.id",
    ),
    Counted.AREAS: _Values(
        "SELECT value FROM json_values WHERE typeof(value) = 'text' "
        f"AND path_id = (SELECT id FROM json_paths WHERE path = '{AREA_PATH}')",
        f"(SELECT id, json_extract(context, '$.{AREA_PATH}') AS value FROM memories) AS v "
        "ON v.id = s.id AND typeof(v.value) = 'text'",
    ),
}
_KINDS = {Kind.FACT: "facts", Kind.PERCEPTION: "perceptions", Kind.NOTE: "notes"}


class Count(NamedTuple):
    """How many active memories have a value."""

    value: str
    memories: int


class CountQuery(NamedTuple):
    """A validated request for counts."""

    field: Counted
    collection: str
    """Empty for all."""
    n: int


def parse_counts(field: str, *, collection: str | None = None, n: int = DEFAULT_N) -> CountQuery:
    """Check all fields; no collection and `*` mean all, `n` is cut to 1..10000 and 0 means 1000.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    named = validation.collection("collection", collection, every="")
    wanted = validation.whole("n", n)
    return CountQuery(
        validation.member("field", field, Counted),
        named,
        DEFAULT_N if wanted == 0 else min(max(wanted, 1), MAX_N),
    )


def read_counts(
    connection: Snapshot, query: CountQuery, parameters: Parameters, areas: Mapping[str, Area]
) -> tuple[Count, ...]:
    """Count, largest first and then in alphabetical order; what no memory has is left out."""
    if query.field in {Counted.COLLECTIONS, Counted.KINDS}:
        counts = _from_table(connection, query)
    elif query.field is Counted.AREAS:
        counts = [one for one in _of_values(connection, query._replace(n=-1)) if one.value not in areas]
        counts += _in_polygons(connection, query, parameters, areas)
    else:
        counts = _of_values(connection, query)
    return tuple(sorted((one for one in counts if one.memories), key=lambda one: (-one.memories, one.value))[: query.n])


def _from_table(connection: Snapshot, query: CountQuery) -> list[Count]:
    columns = [f"sum({column})" for column in _KINDS.values()]
    found = connection.rows(
        f"SELECT name, {', '.join(columns)} FROM collections WHERE ?1 IN ('', name) GROUP BY name", (query.collection,)
    )
    if query.field is Counted.COLLECTIONS:
        return [Count(name, sum(counts)) for name, *counts in found]
    return [Count(kind.value, sum(row[1 + at] for row in found)) for at, kind in enumerate(_KINDS)]


def _of_values(connection: Snapshot, query: CountQuery) -> list[Count]:
    # Whether a memory is active, and of the collection, stands in its row alone. So all are counted from an index, and
    # what does not belong to them is counted off; or the memories of a small collection are looked up.
    values = _VALUES[query.field]
    all_of_them = f"SELECT value, count(*) AS n FROM ({values.all}) GROUP BY value"
    some = f"SELECT value, {{sign}} * count(*) AS n FROM ({{ids}}) AS s CROSS JOIN {values.of} GROUP BY value"
    arguments: tuple[object, ...] = ()
    if not query.collection:
        counted = f"{all_of_them} UNION ALL {some.format(sign=-1, ids=_INACTIVE)}"
    elif _is_small(connection, query.collection):
        counted, arguments = some.format(sign=1, ids=_MEMBERS), (query.collection,)
    else:
        counted = f"{all_of_them} UNION ALL {some.format(sign=-1, ids=_OTHERS)}"
        arguments = (query.collection,) * 3
    grouped = f"SELECT value, sum(n) AS n FROM ({counted}) GROUP BY value HAVING sum(n) > 0"
    found = connection.rows(
        f"SELECT {values.shown}, n FROM ({grouped} ORDER BY n DESC, value LIMIT ?)", (*arguments, query.n)
    )
    return [Count(value, n) for value, n in found]


def _is_small(connection: Snapshot, collection: str) -> bool:
    (least,) = connection.row("SELECT sum(memories) / 2 FROM collections")
    return collection_rows.size(connection, collection) < (least or 0)


def _in_polygons(
    connection: Snapshot, query: CountQuery, parameters: Parameters, polygons: Mapping[str, Area]
) -> list[Count]:
    # As the condition `areas` of a recall sees them: an index lists each memory once.
    here, values = ("m.collection = ?", (query.collection,)) if query.collection else ("true", ())
    field = pose_field("areas", parameters)
    sources = [(name, InAreas((name,), polygons, field).sql().source) for name in sorted(polygons)]
    listed = [(name, source) for name, source in sources if source]
    counts: list[Count] = []
    for first in range(0, len(listed), _GROUP):
        some = listed[first : first + _GROUP]
        sql = " UNION ALL ".join(_IN_AREA.format(source=source.sql, here=here) for _, source in some)
        arguments = [value for name, source in some for value in (name, *source.arguments, *values)]
        counts += [Count(*row) for row in connection.rows(sql, arguments)]
    return counts
