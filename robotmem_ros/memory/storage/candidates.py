"""Candidates: the memories that meet all conditions, exactly, before anything is ranked or cut.

If they are few they are listed, and every search looks at these alone; what an index lists need not be tested at once.
Otherwise a search looks at all memories, best first. What is not tested is tested as a search comes upon it, until
enough of it are candidates.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.sql import Source, Sql, all_of
from .overview import overview
from .snapshot import Snapshot, json_array

Ids = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]

_LIST_SIZE = 500
"""So many are always listed."""
_COST = 8
"""Cost of a memory that a search comes upon and tests, over that of one that an index lists and that is tested."""
_SURPLUS, _GROWTH = 16, 4
"""Memories that are tested at first beyond those wanted, and the growth of each further piece."""

_SAMPLE, _LEAST_SHARE = 128, 1 / 64


class Candidates(NamedTuple):
    """The memories under all of some conditions: sorted ids if they are listed, and conditions to test ids with."""

    conditions: tuple[Sql, ...] = ()
    """Conditions that are still to be tested."""
    ids: Ids | None = None
    """Ids, ascending, of which those that meet the conditions are the candidates; None for all memories."""
    one_per_text: bool = False
    """Whether one of several with the same text is enough."""

    @property
    def check(self) -> Sql:
        """Return an SQL expression over the alias `m` of memories for all that is still to be tested."""
        return all_of(self.conditions)

    def and_(self, extra: Sql) -> Candidates:
        """Add a condition, before they are listed."""
        return self._replace(conditions=(*self.conditions, extra))

    @property
    def untested(self) -> tuple[Sql, ...]:
        """Return the conditions that RAM does not test."""
        return tuple(condition for condition in self.conditions if condition.test is None)

    def passing(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """Tell which of some memories pass the tests in RAM."""
        is_passing = np.ones(len(ids), bool)
        for condition in self.conditions:
            if condition.test is not None:
                is_passing &= condition.test(ids)
        return is_passing

    def share(self, snapshot: Snapshot) -> float:
        """Estimate, from a sample, what share of all memories passes the tests in RAM: 1/64 at least."""
        ids = np.linspace(1, overview(snapshot).last_memory, _SAMPLE, dtype=np.int64)
        return max(float(self.passing(ids).mean()), _LEAST_SHARE)

    def filter(self, snapshot: Snapshot, ids: Collection[int]) -> list[int]:
        """Keep those of some memories that are candidates, in their order."""
        passing_ids: list[int] = self.among(snapshot, np.fromiter(ids, np.int64, len(ids))).tolist()
        return passing_ids

    def among(self, snapshot: Snapshot, ids: Ids) -> Ids:
        """Return those of many memories that are candidates, in their order."""
        if self.ids is not None:
            at = np.searchsorted(self.ids, ids)
            ids = ids[self.ids.take(at, mode="clip") == ids] if len(self.ids) else ids[:0]
        ids = ids[self.passing(ids)]
        if not self.untested or not len(ids):
            return ids
        check = all_of(self.untested)
        sql = f"SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE {check.sql}"
        return snapshot.array(sql, (json_array(ids), *check.arguments))

    def first(self, snapshot: Snapshot, best_first: Ids, n: int) -> Positions:
        """Return where the first `n` candidates stand among listed ids; no more are tested than that takes."""
        if not self.conditions:
            return np.arange(min(n, len(best_first)))
        untested, start, size = Candidates(self.conditions), 0, n + _SURPLUS
        positions = np.empty(0, np.intp)
        while start < len(best_first) and len(positions) < n:
            part = best_first[start : start + size]
            is_candidate = np.isin(part, untested.filter(snapshot, part.tolist()))
            positions = np.concatenate((positions, start + np.flatnonzero(is_candidate)))
            start, size = start + size, _GROWTH * size
        return positions[:n]

    def without(self, ids: Collection[int]) -> Candidates:
        """Leave out some memories."""
        if self.ids is not None:
            return self._replace(ids=self.ids[~np.isin(self.ids, [*ids])])
        gone = np.fromiter(ids, np.int64, len(ids))
        sql = "m.id NOT IN (SELECT value FROM json_each(?))"
        return self.and_(Sql(sql, (json_array(ids),), test=lambda tested: ~np.isin(tested, gone)))

    def has_any(self, snapshot: Snapshot, first: int) -> bool:
        """Tell whether there is any among the ids, by testing the newest, `first` at once, then ever more."""
        newest = [] if self.ids is None else self.ids[::-1].tolist()
        while newest:
            if self.filter(snapshot, newest[:first]):
                return True
            newest, first = newest[first:], 4 * first
        return False

    def by_time(self) -> Sql:
        """Return SQL that follows SELECT and stands before ORDER BY m.observed_at."""
        if self.ids is not None:
            listed = "FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value"
            return Sql(f"{listed} WHERE {self.check.sql}", (json_array(self.ids), *self.check.arguments))
        # The index gives the most recent first, or the oldest, and the walk ends at the last one that is wanted.
        return Sql(f"FROM memories AS m INDEXED BY idx_mem_observed WHERE {self.check.sql}", self.check.arguments)


def only(ids: Iterable[int]) -> Candidates:
    """Make candidates of exactly these memories."""
    return Candidates(ids=np.sort(np.fromiter(ids, np.int64)))


def list_if_few(snapshot: Snapshot, candidates: Candidates, n: int) -> Candidates:
    """List the candidates if that takes less than a search of all memories for `n` of them.

    To list c of N memories takes c tests, and a search that finds them at random takes n * N / c.
    """
    return list_up_to(snapshot, candidates, worth_listing(snapshot, n, _COST))


def worth_listing(snapshot: Snapshot, n: int, cost: int) -> int:
    """Return how many candidates are listed rather than tested in a search for `n`, by the cost of its tests."""
    return max(_LIST_SIZE, math.isqrt(cost * n * overview(snapshot).memories))


def list_up_to(snapshot: Snapshot, candidates: Candidates, limit: int) -> Candidates:
    """List the candidates if an index lists at most `limit` memories under a condition: the rest is tested."""
    rest, ids = _shortest(snapshot, candidates, limit)
    return candidates if ids is None else Candidates(ids=rest.among(snapshot, ids))


def list_untested(snapshot: Snapshot, candidates: Candidates, n: int) -> Candidates:
    """List the candidates as `list_if_few` does, but of more than a few hundred leave what RAM does not test."""
    rest, ids = _shortest(snapshot, candidates, worth_listing(snapshot, n, _COST))
    if ids is None:
        return candidates
    ids = ids[rest.passing(ids)]
    listed = Candidates(rest.untested, ids)
    return listed if len(ids) > _LIST_SIZE else Candidates(ids=listed.among(snapshot, ids))


def most_recent(snapshot: Snapshot, candidates: Candidates, n: int) -> list[int]:
    """Find the `n` candidates that were observed last, most recent first."""
    memories = list_if_few(snapshot, candidates, n).by_time()
    sql = f"SELECT m.id {memories.sql} ORDER BY m.observed_at DESC, m.id DESC LIMIT ?"
    return snapshot.ids(sql, (*memories.arguments, n))


def _shortest(snapshot: Snapshot, candidates: Candidates, limit: int) -> tuple[Candidates, Ids | None]:
    # The shortest list of an index, and the candidates by the conditions that it leaves; None if all lists are longer
    # than a limit, or if the candidates are listed.
    rest, shortest = candidates, None
    for condition in candidates.conditions if candidates.ids is None else ():
        if (source := condition.source) is None or _is_longer(snapshot, source, limit):
            continue
        shortest = np.sort(snapshot.array(source.sql, source.arguments))
        rest = Candidates(tuple(other for other in candidates.conditions if other is not condition))
        limit = len(shortest) - 1
    return rest, shortest


def _is_longer(snapshot: Snapshot, source: Source, limit: int) -> bool:
    # To skip so many takes a third of the time that it takes to list or count them.
    if source.size is not None:
        return source.size > limit
    return bool(snapshot.row(f"SELECT EXISTS ({source.sql} LIMIT 1 OFFSET ?)", (*source.arguments, limit))[0])
