"""Conditions in SQL, and the candidates: the memories that meet all of them, exactly, before anything is ranked or cut.

The condition that an index finds the fewest memories for lists them, and the others are checked of each. If few are
left, they are named one by one, and every later stage looks at them alone.
"""

from __future__ import annotations

import json
import math
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage import bulk
from ..storage.overview import overview

NAMES = 1000
"""How many names are searched for near ones."""
_GROUP = 50
_MOST_UNITED = 100
_FEW, _SHARE = 2000, 16
"""Up to `_FEW` memories are listed; sorted ids are read of as many, or of one in `_SHARE` of all if these are more."""
_BROAD = 1000
"""From this many memories on there are postings: to list most memories takes longer than to check the best."""
_COUNTED = 20_000


class Source(NamedTuple):
    """A SELECT that gives the memories under a condition from an index, each once, as a column named `id`."""

    sql: str
    arguments: tuple[object, ...]
    size: int | None = None
    """How many there are, about, where it need not be counted."""


class Condition(NamedTuple):
    """What must hold of a memory: an SQL expression over the alias `m` of memories, cheap for one memory at a time.

    Where an index can list the memories under the condition, `source` does.
    """

    check: str
    arguments: tuple[object, ...] = ()
    source: Source | None = None


NONE = Condition("0", (), Source("SELECT 1 AS id WHERE 0", (), 0))
"""What nothing meets."""


class Wanted(ABC):
    """A condition as its caller gave it, checked; it turns into SQL on the snapshot that the query runs on."""

    suffices: bool = True
    """Whether a query may have it alone, without words and other conditions."""
    is_evidence: bool = True
    """Whether it says what a memory is about, or where or when it was observed, so that what it leaves is an answer."""

    @abstractmethod
    def conditions(self, connection: sqlite3.Connection) -> Sequence[Condition]:
        """Return it in SQL, in as many parts as indexes can list by themselves; all must hold.

        Raises:
            FrameMismatchError: its position is in a frame that cannot be compared.
            InvalidFieldError: it cannot be met in this database.
        """

    def notes(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say what the caller should know of it, whatever was found."""
        return ()

    def unknown(self, connection: sqlite3.Connection) -> Iterable[str]:
        """Say what it names that no memory has."""
        return ()


def in_source(source: Source) -> Condition:
    """Require to be among what a source lists, for what cannot be checked of one memory at a time."""
    return Condition(f"m.id IN ({source.sql})", source.arguments, source)


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Require at least one of some conditions; without any, nothing meets it."""
    if not conditions:
        return NONE
    if len(conditions) == 1:
        return conditions[0]
    sources = [condition.source for condition in conditions if condition.source]
    source = None
    if len(sources) == len(conditions) <= _MOST_UNITED:
        sizes = [source.size for source in sources if source.size is not None]
        source = Source(
            " UNION ".join(f"SELECT id FROM ({source.sql})" for source in sources),
            tuple(argument for source in sources for argument in source.arguments),
            sum(sizes) if len(sizes) == len(sources) else None,
        )
    return Condition(*joined("OR", conditions)[:2], source)


def distinct(connection: sqlite3.Connection, table: str, column: str, where: str) -> list[str]:
    """Return the texts in an indexed column, from one to the next, not more than are searched for near names."""
    next_one = f"SELECT min({column}) FROM {table} WHERE {where}"
    found = connection.execute(
        f"WITH RECURSIVE one (value) AS ({next_one} UNION ALL SELECT ({next_one} AND {column} > one.value) FROM one "
        "WHERE one.value IS NOT NULL) SELECT value FROM one WHERE value IS NOT NULL LIMIT ?",
        (NAMES,),
    )
    return [value for (value,) in found if isinstance(value, str)]


def joined(operator: str, conditions: Iterable[Condition]) -> Source:
    """Join the checks of some conditions, at least one, by an operator."""
    conditions = tuple(conditions)
    checks = [f"({condition.check})" for condition in conditions]
    # In groups, for SQLite reads "a AND b AND c" as an expression three deep, and takes none a thousand deep.
    while len(checks) > 1:
        groups = (f" {operator} ".join(checks[first : first + _GROUP]) for first in range(0, len(checks), _GROUP))
        checks = [f"({group})" for group in groups]
    return Source(checks[0], tuple(argument for condition in conditions for argument in condition.arguments))


class Candidates(NamedTuple):
    """The memories under all of some conditions, and what is known of their ids."""

    conditions: tuple[Condition, ...]
    ids: tuple[int, ...] | None = None
    """All of them, if they were found few."""
    superset: npt.NDArray[np.int64] | None = None
    """Sorted ids that contain every candidate, if known, so that membership needs no query."""

    def and_(self, extra: Condition) -> Candidates:
        """Add a condition."""
        return Candidates((*self.conditions, extra), superset=self.superset)

    def may_contain(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell which of some ids can be candidates, as far as `superset` tells."""
        if self.superset is None or not len(self.superset):
            return np.full(len(ids), self.superset is None)
        at = np.minimum(np.searchsorted(self.superset, ids), len(self.superset) - 1)
        found: npt.NDArray[np.bool_] = self.superset[at] == ids
        return found

    def check(self) -> Source:
        """Return an SQL expression over the alias `m` of memories that holds for exactly these, with its arguments."""
        return joined("AND", self.conditions or (Condition("1"),))

    def ids_json(self) -> str:
        """Return the ids as a JSON array, for json_each()."""
        return json.dumps(self.ids)


def find_candidates(
    connection: sqlite3.Connection, conditions: Iterable[Wanted], *, include_inactive: bool = False
) -> Candidates:
    """Turn conditions into SQL.

    Raises:
        InvalidFieldError: a condition cannot be met in this database.
    """
    found = [condition for wanted in conditions for condition in wanted.conditions(connection)]
    return Candidates(tuple(found if include_inactive else [Condition("m.status = 'active'"), *found]))


def enumerate_if_few(
    connection: sqlite3.Connection,
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


def narrow_down(connection: sqlite3.Connection, wanted: Candidates, most: int | None = None) -> Candidates:
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
    return Candidates((Condition("m.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)),), tuple(ids))


def excluding(wanted: Candidates, ids: Collection[int]) -> Candidates:
    """Leave out some memories."""
    if wanted.ids is not None:
        gone = set(ids)
        return only([one for one in wanted.ids if one not in gone])
    return wanted.and_(Condition("m.id NOT IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)))


def newest(connection: sqlite3.Connection, wanted: Candidates, limit: int) -> list[int]:
    """Find the newest memories that may be candidates as far as ids tell, newest first, at most `limit`."""
    if wanted.ids is not None:
        return sorted(wanted.ids, reverse=True)[:limit]
    if wanted.superset is not None:
        found: list[int] = wanted.superset[::-1][:limit].tolist()
        return found
    return bulk.ids(connection, "SELECT id FROM memories ORDER BY id DESC LIMIT ?", (limit,))


def most_recent(connection: sqlite3.Connection, wanted: Candidates, n: int) -> list[int]:
    """Find the `n` candidates that were observed last, most recent first."""
    wanted = enumerate_if_few(connection, wanted)
    check = wanted.check()
    # The index by time gives the most recent first, and the walk ends at the n-th candidate.
    source = "memories AS m" if wanted.ids is not None else "memories AS m INDEXED BY idx_mem_observed"
    rows = connection.execute(
        f"SELECT m.id FROM {source} WHERE {check.sql} ORDER BY m.observed_at DESC, m.id DESC LIMIT ?",
        (*check.arguments, n),
    )
    return [memory_id for (memory_id,) in rows]


def filter_ids(connection: sqlite3.Connection, wanted: Candidates, ids: Collection[int]) -> set[int]:
    """Keep those of some memories that are candidates."""
    if not ids:
        return set()
    check = wanted.check()
    sql = f"SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {check.sql}"
    return set(bulk.ids(connection, sql, (json.dumps(list(ids)), *check.arguments)))


def _fewest(
    connection: sqlite3.Connection, conditions: Sequence[Condition], most: int, counted: int, broad: float
) -> Condition | None:
    # None when no index lists few enough. A long list can become short by another one, but not by itself.
    indexed = [condition for condition in conditions if condition.source is not None]
    long = min(counted, broad)
    narrow = [one for one in indexed if one.source and (one.source.size is None or one.source.size < long)]
    limit = most + 1 if len(narrow) < 2 else max(most + 1, counted)
    counts = [_count(connection, condition.source, limit) for condition in indexed if condition.source]
    fewest = min(counts, default=limit)
    return indexed[counts.index(fewest)] if fewest < limit and fewest <= broad else None


def _count(connection: sqlite3.Connection, source: Source, limit: int) -> int:
    if source.size is not None:
        return source.size
    sql = f"SELECT count(*) FROM ({source.sql} LIMIT ?)"
    return int(connection.execute(sql, (*source.arguments, limit)).fetchone()[0])
