"""Select the memories under conditions, and put them in order: rows of a table.

A condition on the robot's last visit to a place is completed first: only all memories together tell when that ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..conditions.condition import Condition
from ..conditions.places import POSITION, Place
from ..conditions.spatial import NEVER, Circle, SinceLastVisit
from ..storage import sighting_rows
from ..table.column import Array, Mask, Rows, bound
from ..table.view import View

_FEW = 16
"""Rows that are fewer than all by this factor are measured by themselves."""


@dataclass(frozen=True)
class Chosen:
    """Some rows of a table, by their mask."""

    view: View
    mask: Mask

    @cached_property
    def rows(self) -> Rows:
        """Return the rows, ascending."""
        return np.flatnonzero(self.mask)

    @cached_property
    def count(self) -> int:
        """Return how many they are."""
        return int(np.count_nonzero(self.mask))

    @property
    def are_few(self) -> bool:
        """Tell whether it is quicker to measure each of them than to measure all rows of the table."""
        return _FEW * self.count < len(self.mask)

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """Return the ids of their memories, ascending."""
        return self.view.ids[self.rows]

    def of(self, column: Array) -> Array:
        """Return their part of what all rows of the table have, to be read only."""
        return column if self.count == len(column) else column[self.rows]

    def and_(self, mask: Mask) -> Chosen:
        """Return those that a mask holds for as well."""
        return Chosen(self.view, self.mask & mask)

    def among(self, ids: Collection[int]) -> Rows:
        """Return the rows of those of some memories that are chosen."""
        rows = self.view.table.rows_of(np.array(sorted(ids), np.int64))
        return rows[self.mask[rows]]

    def only(self, ids: Collection[int]) -> Chosen:
        """Return some memories, whether they were chosen or not."""
        return Chosen(self.view, self.view.table.mask_of(self.view.table.rows_of(np.array(sorted(ids), np.int64))))


def select(view: View, conditions: Iterable[Condition], *, include_inactive: bool = False) -> Mask:
    """Tell which rows have a memory under all of some conditions, by default one that is not withdrawn."""
    mask: Mask = (view.is_present if include_inactive else view.is_active).copy()
    for condition in conditions:
        mask &= view.mask_once(complete(view, condition))
    return mask


def complete(view: View, condition: Condition) -> Condition:
    """Return a condition with what only all memories together tell."""
    if not isinstance(condition, SinceLastVisit):
        return condition
    return replace(condition, end=last_visit(view, condition))


def in_order(rows: Rows, n: int, *keys: npt.NDArray[np.number]) -> Iterator[int]:
    """Yield rows in the order of keys, which these rows have: the first `n` are sorted by themselves."""
    is_first = np.asarray(keys[0] <= bound(keys[0], 2 * n))
    for part in (np.flatnonzero(is_first), np.flatnonzero(~is_first)):
        yield from rows[part[np.lexsort([key[part] for key in reversed(keys)])]].tolist()


Times = npt.NDArray[np.int64]


def last_visit(view: View, visit: SinceLastVisit) -> int:
    """Return when it ended, in nanoseconds, or NEVER; it is looked for once in each snapshot."""
    return view.snapshot.read_once(lambda _: _last_visit(view, visit), visit)


def _last_visit(view: View, visit: SinceLastVisit) -> int:
    collections = replace(visit.collections, of_notes=())
    here = view.is_active & Circle(visit.place).mask(view) & collections.mask(view)
    times = np.concatenate((view.observed_at[here], _sighted(view, here, visit.place)))
    times = np.sort(times[times <= visit.now])[::-1]
    starts = np.concatenate(([visit.now], times[:-1])) if len(times) else times
    (gaps,) = np.nonzero(starts - times > visit.gap)
    return int(times[gaps[0]]) if len(gaps) else NEVER


def _sighted(view: View, here: Mask, place: Place) -> Times:
    # When objects that are at the place were sighted there.
    objects = view.ids[here & (view.confirmed >= 0)]
    if place.field.name != POSITION or not len(objects):
        return np.empty(0, np.int64)
    sightings = sighting_rows.places(view.snapshot, objects)
    steps = np.array([row[1:] for row in sightings]).reshape(-1, 3)[:, : len(place.target)] - place.target
    is_near = np.sqrt((steps * steps).sum(axis=1)) <= place.max_distance
    times: Times = np.array([row[0] for row in sightings], np.int64)[is_near]
    return times
