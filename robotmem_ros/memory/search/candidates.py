"""Candidates: the memories that meet all conditions, exactly, before anything is ranked or cut.

The condition that an index finds the fewest memories for lists them, and the others are checked of each. If few are
left, they are named one by one, and every later stage looks at them alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage import bulk
from ..storage.collection_rows import sizes
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from .condition import Condition
from .conditions import Collections
from .names import check_names
from .spatial_conditions import SinceLastVisit
from .sql import Source, Sql, all_of
from .visits import last_visit

_FEW, _SHARE = 2000, 16
"""Up to `_FEW` memories are listed; sorted ids are read of as many, or of one in `_SHARE` of all if these are more."""
_BROAD = 1000
"""From this many memories on there are postings: to list most memories takes longer than to check the best."""
_COUNTED = 20_000


class Candidates(NamedTuple):
    """The memories under all of some conditions, and what is known of their ids."""

    conditions: tuple[Sql, ...]
    ids: tuple[int, ...] | None = None
    """All of them, if they were found few."""
    superset: npt.NDArray[np.int64] | None = None
    """Sorted ids that contain every candidate, if known, so that membership needs no query."""

    def and_(self, extra: Sql) -> Candidates:
        """Add a condition."""
        return Candidates((*self.conditions, extra), superset=self.superset)

    def may_contain(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell which of some ids can be candidates, as far as `superset` tells."""
        if self.superset is None or not len(self.superset):
            return np.full(len(ids), self.superset is None)
        at = np.minimum(np.searchsorted(self.superset, ids), len(self.superset) - 1)
        found: npt.NDArray[np.bool_] = self.superset[at] == ids
        return found

    def check(self) -> Sql:
        """Return an SQL expression over the alias `m` of memories that holds for exactly these, with its arguments."""
        return all_of(self.conditions)

    def ids_json(self) -> str:
        """Return the ids as a JSON array, for json_each()."""
        return json.dumps(self.ids)


def find_candidates(
    connection: Snapshot, conditions: Iterable[Condition], *, include_inactive: bool = False
) -> Candidates:
    """Turn conditions into SQL.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
        InvalidFieldError: a condition cannot be met in this database.
    """
    conditions = tuple(conditions)
    check_names(connection, conditions)
    seen = [_seen(connection, condition) for condition in conditions if condition.leaves_out_any(overview(connection))]
    parts = [_sized(connection, part) for condition in seen for part in condition.parts()]
    return Candidates(tuple(parts if include_inactive else [Sql("m.status = 'active'"), *parts]))


def _seen(connection: Snapshot, condition: Condition) -> Condition:
    # What only all memories together tell.
    if isinstance(condition, SinceLastVisit):
        return replace(condition, end=last_visit(connection, condition))
    return condition


def _sized(connection: Snapshot, condition: Condition) -> Sql:
    # Collections are counted in a table of theirs.
    sql = condition.sql()
    if sql.source is None or not isinstance(condition, Collections):
        return sql
    size = sum(size for size, _ in sizes(connection, (*condition.names, *condition.of_notes)).values())
    return sql._replace(source=sql.source._replace(size=size))


def enumerate_if_few(
    connection: Snapshot,
    wanted: Candidates,
    most: int | None = None,
    *,
    counted: int = _COUNTED,
    broad: float = math.inf,
) -> Candidates:
    """List the ids of the candidates if there are at most `most`; by default, if there are few.

    A list longer than both `counted` and `most`, or than `broad`, is not read to see how many of it are candidates.
    """
    most = _FEW if most is None else most
    driver = None if wanted.ids is not None else _fewest(connection, wanted.conditions, most, counted, broad)
    if driver is None or driver.source is None:
        return wanted
    others = Candidates(tuple(other for other in wanted.conditions if other is not driver)).check()
    found = bulk.ids(
        connection,
        f"SELECT m.id FROM ({driver.source.sql}) AS s CROSS JOIN memories AS m ON m.id = s.id "
        f"WHERE {others.sql} LIMIT ?",
        (*driver.source.arguments, *others.arguments, most + 1),
    )
    return wanted if len(found) > most else only(found)


def narrow_down(connection: Snapshot, wanted: Candidates, most: int | None = None) -> Candidates:
    """List up to `most` candidates, or else the ids that the narrowest condition allows, unless these are most of all.

    The ids are listed without a look at the memories, and only if they are few or not more than one in `_SHARE` of all.
    """
    memories = overview(connection).memories
    broad = max(_BROAD, memories // 2)
    wanted = enumerate_if_few(connection, wanted, most, broad=broad)
    if wanted.ids is not None or wanted.superset is not None:
        return wanted
    share = min(max(_FEW, memories // _SHARE), broad)
    sources = [condition.source for condition in wanted.conditions if condition.source]
    unknown = [source for source in sources if source.size is None or source.size <= share]
    if not unknown:
        return wanted
    lists = (bulk.array(connection, f"{source.sql} LIMIT ?", (*source.arguments, share + 1)) for source in unknown)
    shortest = min(lists, key=len)
    return wanted._replace(superset=np.sort(shortest)) if len(shortest) <= share else wanted


def only(ids: Sequence[int]) -> Candidates:
    """Make candidates of exactly these memories."""
    return Candidates((Sql("m.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)),), tuple(ids))


def excluding(wanted: Candidates, ids: Collection[int]) -> Candidates:
    """Leave out some memories."""
    if wanted.ids is not None:
        gone = set(ids)
        return only([one for one in wanted.ids if one not in gone])
    return wanted.and_(Sql("m.id NOT IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)))


def newest(connection: Snapshot, wanted: Candidates, limit: int) -> list[int]:
    """Find the newest memories that may be candidates as far as ids tell, newest first, at most `limit`."""
    if wanted.ids is not None:
        return sorted(wanted.ids, reverse=True)[:limit]
    if wanted.superset is not None:
        found: list[int] = wanted.superset[::-1][:limit].tolist()
        return found
    return bulk.ids(connection, "SELECT id FROM memories ORDER BY id DESC LIMIT ?", (limit,))


def most_recent(connection: Snapshot, wanted: Candidates, n: int) -> list[int]:
    """Find the `n` candidates that were observed last, most recent first."""
    wanted = enumerate_if_few(connection, wanted)
    check = wanted.check()
    # The index by time gives the most recent first, and the walk ends at the n-th candidate.
    source = "memories AS m" if wanted.ids is not None else "memories AS m INDEXED BY idx_mem_observed"
    rows = connection.rows(
        f"SELECT m.id FROM {source} WHERE {check.sql} ORDER BY m.observed_at DESC, m.id DESC LIMIT ?",
        (*check.arguments, n),
    )
    return [memory_id for (memory_id,) in rows]


def filter_ids(connection: Snapshot, wanted: Candidates, ids: Collection[int]) -> set[int]:
    """Keep those of some memories that are candidates."""
    if not ids:
        return set()
    check = wanted.check()
    sql = f"SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {check.sql}"
    return set(bulk.ids(connection, sql, (json.dumps(list(ids)), *check.arguments)))


def _fewest(connection: Snapshot, conditions: Sequence[Sql], most: int, counted: int, broad: float) -> Sql | None:
    # None when no index lists few enough. A long list can become short by another one, but not by itself.
    indexed = [condition for condition in conditions if condition.source is not None]
    long = min(counted, broad)
    narrow = [one for one in indexed if one.source and (one.source.size is None or one.source.size < long)]
    limit = most + 1 if len(narrow) < 2 else max(most + 1, counted)
    counts = [_count(connection, condition.source, limit) for condition in indexed if condition.source]
    fewest = min(counts, default=limit)
    return indexed[counts.index(fewest)] if fewest < limit and fewest <= broad else None


def _count(connection: Snapshot, source: Source, limit: int) -> int:
    if source.size is not None:
        return source.size
    sql = f"SELECT count(*) FROM ({source.sql} LIMIT ?)"
    return int(connection.row(sql, (*source.arguments, limit))[0])
