"""Count the active memories of each collection, category, tag, label, area, session and kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from .. import validation
from ..areas import Area
from ..conditions.spatial import InAreas
from ..config.parameters import Parameters
from ..storage import count_rows
from ..storage.snapshot import Snapshot
from .places import pose_field

DEFAULT_N = 1000
MAX_N = 10_000


class CountField(str, Enum):
    """What memories can be counted by."""

    COLLECTIONS = "collections"
    CATEGORIES = "categories"
    TAGS = "tags"
    LABELS = "labels"
    AREAS = "areas"
    SESSIONS = "sessions"
    KINDS = "kinds"


class Count(NamedTuple):
    """How many active memories have a value."""

    value: str
    memories: int


class Counts(tuple[Count, ...]):  # noqa: SLOT001 (a tuple with a reason)
    """Values and how many active memories have each."""

    reason: str = ""
    """Why the fleet did not answer; empty if it did, or was not asked."""

    @classmethod
    def of(cls, counts: Iterable[Count], n: int, reason: str = "") -> Counts:
        """Sort counts, largest first and then in alphabetical order; what no memory has is left out."""
        some = sorted((count for count in counts if count.memories), key=lambda count: (-count.memories, count.value))
        result = cls(some[:n])
        result.reason = reason
        return result


class CountQuery(NamedTuple):
    """A validated request for counts."""

    field: CountField
    collection: str
    """Empty for all."""
    n: int


def parse_counts(field: str, *, collection: str | None = None, n: int = DEFAULT_N) -> CountQuery:
    """Check all fields; no collection and `*` mean all, `n` is cut to 1..10000 and 0 means 1000.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    collection_name = validation.collection("collection", collection, wildcard="")
    limit = validation.whole("n", n)
    return CountQuery(
        validation.member("field", field, CountField),
        collection_name,
        DEFAULT_N if limit == 0 else min(max(limit, 1), MAX_N),
    )


def read_counts(snapshot: Snapshot, query: CountQuery, parameters: Parameters, areas: Mapping[str, Area]) -> Counts:
    """Count, largest first and then in alphabetical order; what no memory has is left out."""
    if query.field in {CountField.COLLECTIONS, CountField.KINDS}:
        counts = _from_table(snapshot, query)
    elif query.field is CountField.AREAS:
        counts = [count for count in _of_values(snapshot, query, n=-1) if count.value not in areas]
        counts += _in_polygons(snapshot, query, parameters, areas)
    else:
        counts = _of_values(snapshot, query, query.n)
    return Counts.of(counts, query.n)


def _from_table(snapshot: Snapshot, query: CountQuery) -> list[Count]:
    rows = count_rows.of_collections(snapshot, query.collection)
    if query.field is CountField.COLLECTIONS:
        return [Count(name, sum(counts)) for name, *counts in rows]
    return [Count(kind.value, sum(row[1 + at] for row in rows)) for at, kind in enumerate(count_rows.KINDS)]


def _of_values(snapshot: Snapshot, query: CountQuery, n: int) -> list[Count]:
    return [Count(*row) for row in count_rows.of_values(snapshot, query.field.value, query.collection, n)]


def _in_polygons(
    snapshot: Snapshot, query: CountQuery, parameters: Parameters, polygons: Mapping[str, Area]
) -> list[Count]:
    # As the condition `areas` of a recall sees them: an index lists each memory once.
    field = pose_field("areas", parameters)
    conditions = {name: InAreas((name,), polygons, field) for name in sorted(polygons)}
    return [Count(*row) for row in count_rows.of_conditions(snapshot, conditions, query.collection)]
