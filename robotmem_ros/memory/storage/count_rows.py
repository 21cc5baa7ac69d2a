"""Count active memories by the values of a field, from an index alone as far as possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..conditions.condition import Condition
from ..conditions.places import AREA_PATH
from ..models import Kind
from . import collection_rows
from .snapshot import Snapshot

_GROUP = 100
"""Number of areas counted in one statement: SQLite joins 500 at most."""
_INACTIVE = "SELECT id FROM memories INDEXED BY idx_mem_inactive WHERE status <> 'active'"
_IN_COLLECTION = "SELECT id FROM memories INDEXED BY idx_mem_collection WHERE collection"
_NOT_MEMBERS = f"{_IN_COLLECTION} < ? UNION ALL {_IN_COLLECTION} > ? UNION ALL {_INACTIVE} AND collection = ?"
_MEMBERS = f"{_IN_COLLECTION} = ? AND status = 'active'"
_IN_AREA = """
    SELECT ? AS value, count(*) FROM ({source}) AS s CROSS JOIN memories AS m ON m.id = s.id
    WHERE m.status = 'active' AND {here}
"""
_LABEL = "(SELECT label FROM memories INDEXED BY idx_mem_label_key WHERE label_key = value AND label_key <> '' LIMIT 1)"


class _Values(NamedTuple):
    """The values of a field, in SQL."""

    from_index: str
    """A SELECT of the values of all memories, active or not, from an index alone."""
    join: str
    """A table to join to ids `s.id`, which gives the values of these memories."""
    display: str = "value"
    """An expression for the displayed form of a `value`."""


def _column(name: str, index: str, display: str = "value") -> _Values:
    return _Values(
        f"SELECT {name} AS value FROM memories INDEXED BY {index} WHERE {name} <> ''",
        f"(SELECT id, {name} AS value FROM memories) AS v ON v.id = s.id AND v.value <> ''",
        display,
    )


_VALUES = {
    "categories": _column("category", "idx_mem_category"),
    "labels": _column("label_key", "idx_mem_label_key", _LABEL),
    "sessions": _column("session_id", "idx_mem_session"),
    "tags": _Values(
        "SELECT tag AS value FROM memory_tags",
        "(SELECT m.id, t.key AS value FROM memories AS m CROSS JOIN json_each(m.tags) AS t) AS v ON v.id = s.id",
    ),
    "areas": _Values(
        "SELECT value FROM json_values WHERE typeof(value) = 'text' "
        f"AND path_id = (SELECT id FROM json_paths WHERE path = '{AREA_PATH}')",
        f"(SELECT id, json_extract(context, '$.{AREA_PATH}') AS value FROM memories) AS v "
        "ON v.id = s.id AND typeof(v.value) = 'text'",
    ),
}
KINDS = {Kind.FACT: "facts", Kind.PERCEPTION: "perceptions", Kind.NOTE: "notes"}
"""Columns of `collections`, by what they count."""


def of_collections(snapshot: Snapshot, collection: str) -> list[Any]:
    """Count by collection, or in one: its name, then the memories of each of `KINDS`."""
    columns = ", ".join(f"sum({column})" for column in KINDS.values())
    sql = f"SELECT name, {columns} FROM collections WHERE ?1 IN ('', name) GROUP BY name"
    return snapshot.rows(sql, (collection,))


def of_values(snapshot: Snapshot, field: str, collection: str, n: int) -> list[tuple[str, int]]:
    """Count by the values of a field, the `n` most frequent first; -1 for all. Without a collection over all."""
    # Only the row of a memory tells its status and collection. So all values are counted from an index, and those of
    # other memories are subtracted; for a small collection, the values of its memories are looked up.
    values = _VALUES[field]
    all_of_them = f"SELECT value, count(*) AS n FROM ({values.from_index}) GROUP BY value"
    by_ids = f"SELECT value, {{sign}} * count(*) AS n FROM ({{ids}}) AS s CROSS JOIN {values.join} GROUP BY value"
    arguments: tuple[object, ...] = ()
    if not collection:
        counts = f"{all_of_them} UNION ALL {by_ids.format(sign=-1, ids=_INACTIVE)}"
    elif _is_small(snapshot, collection):
        counts, arguments = by_ids.format(sign=1, ids=_MEMBERS), (collection,)
    else:
        counts = f"{all_of_them} UNION ALL {by_ids.format(sign=-1, ids=_NOT_MEMBERS)}"
        arguments = (collection,) * 3
    grouped = f"SELECT value, sum(n) AS n FROM ({counts}) GROUP BY value HAVING sum(n) > 0"
    sql = f"SELECT {values.display}, n FROM ({grouped} ORDER BY n DESC, value LIMIT ?)"
    return snapshot.rows(sql, (*arguments, n))


def of_conditions(snapshot: Snapshot, conditions: Mapping[str, Condition], collection: str) -> list[tuple[str, int]]:
    """Count the active memories under conditions that an index lists, by the names of these."""
    sources = [(name, source) for name, condition in conditions.items() if (source := condition.sql().source)]
    condition, values = ("m.collection = ?", (collection,)) if collection else ("true", ())
    counts: list[tuple[str, int]] = []
    for first in range(0, len(sources), _GROUP):
        group = sources[first : first + _GROUP]
        sql = " UNION ALL ".join(_IN_AREA.format(source=source.sql, here=condition) for _, source in group)
        counts += snapshot.rows(sql, [value for name, source in group for value in (name, *source.arguments, *values)])
    return counts


def _is_small(snapshot: Snapshot, collection: str) -> bool:
    (limit,) = snapshot.row("SELECT sum(memories) / 2 FROM collections")
    size, _ = collection_rows.sizes(snapshot, [collection]).get(collection, (0, 0))
    return size < (limit or 0)
