"""Count active memories by the values of a field, from an index alone as far as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..models import Kind
from . import collection_rows
from .snapshot import Snapshot
from .value_rows import AREA_PATH

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
    "categories": _column("category", "idx_mem_category"),
    "labels": _column("label_key", "idx_mem_label_key", _LABEL),
    "sessions": _column("session_id", "idx_mem_session"),
    "tags": _Values(
        "SELECT tag AS value FROM memory_tags",
        "(SELECT memory_id, tag AS value FROM memory_tags) AS v ON memory_id = s.id",
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
    # Whether a memory is active, and of the collection, stands in its row alone. So all are counted from an index, and
    # what does not belong to them is counted off; or the memories of a small collection are looked up.
    values = _VALUES[field]
    all_of_them = f"SELECT value, count(*) AS n FROM ({values.all}) GROUP BY value"
    some = f"SELECT value, {{sign}} * count(*) AS n FROM ({{ids}}) AS s CROSS JOIN {values.of} GROUP BY value"
    arguments: tuple[object, ...] = ()
    if not collection:
        counted = f"{all_of_them} UNION ALL {some.format(sign=-1, ids=_INACTIVE)}"
    elif _is_small(snapshot, collection):
        counted, arguments = some.format(sign=1, ids=_MEMBERS), (collection,)
    else:
        counted = f"{all_of_them} UNION ALL {some.format(sign=-1, ids=_OTHERS)}"
        arguments = (collection,) * 3
    grouped = f"SELECT value, sum(n) AS n FROM ({counted}) GROUP BY value HAVING sum(n) > 0"
    sql = f"SELECT {values.shown}, n FROM ({grouped} ORDER BY n DESC, value LIMIT ?)"
    return snapshot.rows(sql, (*arguments, n))


def of_sources(
    snapshot: Snapshot, sources: Sequence[tuple[str, str, tuple[object, ...]]], collection: str
) -> list[tuple[str, int]]:
    """Count what each SELECT of ids gives, under its name; each is given with its arguments."""
    here, values = ("m.collection = ?", (collection,)) if collection else ("true", ())
    counts: list[tuple[str, int]] = []
    for first in range(0, len(sources), _GROUP):
        some = sources[first : first + _GROUP]
        sql = " UNION ALL ".join(_IN_AREA.format(source=source, here=here) for _, source, _ in some)
        counts += snapshot.rows(sql, [value for name, _, own in some for value in (name, *own, *values)])
    return counts


def _is_small(snapshot: Snapshot, collection: str) -> bool:
    (least,) = snapshot.row("SELECT sum(memories) / 2 FROM collections")
    return collection_rows.size(snapshot, collection) < (least or 0)
