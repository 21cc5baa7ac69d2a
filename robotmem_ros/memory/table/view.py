"""A table as the snapshot of a query sees it: what conditions and searches ask for, and the rows that they choose.

A condition on the robot's last visit to a place is completed first: only all memories together tell when that ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..conditions.attributes import Collections, Confidence, ConfirmedObjects, Faded, Kinds
from ..conditions.condition import ABSENT, Condition, Points
from ..conditions.decay import Decay, share_left
from ..conditions.places import POSITION, Field, Place
from ..conditions.spatial import NEVER, Circle, SinceLastVisit
from ..fellow_robots import is_of_another
from ..models import Kind
from ..storage import lived_days, sighting_rows, table_rows, tag_rows
from ..storage.snapshot import Snapshot
from .column import Array, Column, Floats, Mask, Rows, bound
from .table import Ids, Table
from .vectors import Vectors, VectorsInFile

T = TypeVar("T")
_DERIVED = 16
"""So many things are kept that follow from a table."""


class View:
    """All memories of a file as columns, on one snapshot of the database: a `conditions.condition.Table`."""

    def __init__(self, table: Table, snapshot: Snapshot) -> None:
        self.table, self.snapshot = table, snapshot
        self.ids: Ids = table.ids
        """The id of each row, ascending."""
        self.is_present: Mask = table.present.all
        """Which rows have a memory, withdrawn or not."""
        self.last_visits: dict[SinceLastVisit, int] = {}
        """When the visits ended that were looked for."""
        self._counted: dict[str, Column] = {}
        self._confidences: dict[float, Floats] = {}

    @property
    def is_active(self) -> Mask:
        """Tell which rows have a memory that is not withdrawn."""
        return self.number("is_active")

    @property
    def is_represented(self) -> Mask:
        """Tell which rows have a fact that another one represents."""
        return self.number("is_represented")

    @property
    def is_real(self) -> Mask:
        """Tell which rows have a memory of a real run, by `env.sim_or_real`."""
        return self.number("is_real")

    @property
    def observed_at(self) -> Ids:
        """Return when each was observed, in nanoseconds by the robot's clock."""
        return self.number("observed_at")

    @property
    def stored_confidence(self) -> Floats:
        """Return the confidence of each without decay."""
        return self.number("confidence")

    @property
    def confirmed(self) -> npt.NDArray[np.int8]:
        """Return 1 for each confirmed object, 0 for one that is not, -1 for what is no object."""
        return self.number("confirmed")

    @property
    def pose(self) -> Points:
        """Return x, y, z of each; NaN without a pose."""
        return self.number("x"), self.number("y"), self.number("z")

    def number(self, name: str) -> Array:
        """Return a column of numbers."""
        return self.table.numbers[name].all

    def first_absent(self, ids: Ids) -> dict[int, int]:
        """Return by id the times of the looks that found some objects gone, of those that are not confirmed."""
        return sighting_rows.first_absent(self.snapshot, ids)

    def fields_then(self, ids: Iterable[int], decay: Decay) -> Mapping[int, dict[str, Any]]:
        """Return what of some memories is otherwise in this view than in their rows, see `past.as_then`."""
        return {}

    @property
    def order(self) -> Floats | None:
        """Return numbers by which what is not ranked otherwise is ordered, least first; None for by time."""
        return None

    def notes(self, ids: Iterable[int]) -> Iterator[str]:
        """Give sentences about memories that were found, for the `reason` of a result."""
        return iter(())

    @property
    def vectors(self) -> Vectors | VectorsInFile:
        """Return the vectors by their places, in RAM or in the file."""
        held = self.table.vectors
        return VectorsInFile(held, self.snapshot, self.table.vector_ids.all) if held.no_room else held

    @property
    def has_sessions(self) -> bool:
        """Tell whether a memory belongs to a session."""
        return any(self.table.names["session_id"].values)

    @property
    def has_unconfirmed(self) -> bool:
        """Tell whether an object is not confirmed."""
        return bool((self.confirmed == 0).any())

    @cached_property
    def lived_days(self) -> int:
        """Return the number of days that the memory has lived."""
        return self.snapshot.read_once(lived_days.latest)

    @property
    def others(self) -> tuple[str, ...]:
        """Return the collections of other robots."""
        return tuple(filter(is_of_another, self.table.names["collection"].values))

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each now, with the rate of the parameter: each rate and age is computed once."""
        if rate not in self._confidences:
            decay, days = self.table.names["decay"], self.lived_days
            factors = [share_left(own, category, days - day, rate) for own, day, category in decay.values]
            self._confidences[rate] = self.stored_confidence * np.array([*factors, 1.0]).take(decay.codes)
        return self._confidences[rate]

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what follows from this very table, and is computed once."""
        derived = self.table.derived
        value: T | None = derived.get(key)
        if value is None:
            if len(derived) >= _DERIVED:
                derived.clear()
            derived[key] = value = compute()
        return value

    def mask_once(self, condition: Condition) -> Mask:
        """Return the mask of a condition that many queries have, read only."""
        if isinstance(condition, (Confidence, Faded)):
            minimum = condition.minimum if isinstance(condition, Confidence) else None
            return self.once(
                (type(condition), minimum, condition.decay.rate, self.lived_days), lambda: condition.mask(self)
            )
        if isinstance(condition, (Collections, Kinds, ConfirmedObjects)):
            return self.once(condition, lambda: condition.mask(self))
        return condition.mask(self)

    def name(self, name: str) -> Column:
        """Return a field with names, such as `label`, by its key, and `kind`; of a list as a tuple."""
        return self._part_of_space(name) if name in ("frame_id", "map_id") else self.table.names[name]

    def late(self, name: str) -> Column:
        """Return a field that few queries ask for, or with a dot at its beginning the values at a path of contexts."""
        held = self._counted if name == table_rows.COUNTED else self.table.late
        self.table.asked[name] = time.monotonic()
        if name not in held:
            values = np.full(len(self.ids), ABSENT, object)
            rows = np.flatnonzero(self.table.present.all)
            for row, value in zip(rows.tolist(), table_rows.values(self.snapshot, name, None), strict=True):
                values[row] = value
            held[name] = Column.empty().put(np.arange(len(values)), values.tolist(), len(values), shared=False)
        return held[name]

    def active_in(self, collection: str, session_id: str = "") -> Mask:
        """Tell which rows are active memories of a collection, or of one of its sessions."""
        rows = self.is_active & self.name("collection").one_of([collection])
        return rows & self.name("session_id").one_of([session_id]) if session_id else rows

    def kinds(self, rows: Mask) -> Mapping[Kind, int]:
        """Count some rows by kind."""
        return dict(self.name("kind").counts(rows))

    def points(self, field: Field) -> Points:
        """Return x, y, z of each row in a field; NaN in x without one, in z for one in the plane."""
        is_here = self.table.names["space"].one_of([(field.frame_id, field.map_id)])
        x, y, z = self._points(field.name)
        return (x if is_here.all() else np.where(is_here, x, np.nan)), y, z

    def spaces(self, field: str, rows: Mask) -> list[tuple[tuple[str, str], int]]:
        """Count those of some rows that have a position in a field, of whatever frame, by their frame and map."""
        return self.table.names["space"].counts(rows & ~np.isnan(self._points(field)[0]))

    def maps(self) -> set[str]:
        """Return the maps that memories, withdrawn or not, are in; `''` for one without a name."""
        return {map_id for (_, map_id), _ in self.table.names["space"].counts(self.is_present)}

    def parents(self) -> Mapping[str, str]:
        """Return the tag above each tag that has one."""
        return {tag: parent for tag, parent in self.snapshot.read_once(tag_rows.parents).items() if parent}

    def _points(self, field: str) -> Points:
        if field == POSITION:
            return self.pose
        return self.once(("points", field), self.late(f".{field.removeprefix('context.')}").points)

    def _part_of_space(self, name: str) -> Column:
        space, at = self.table.names["space"], 0 if name == "frame_id" else 1
        return space.mapped(lambda value: value[at])


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
        return np.flatnonzero(self.mask) if self.count < len(self.mask) else np.arange(self.count)

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

    def only(self, rows: Rows) -> Chosen:
        """Return some rows, whether they were chosen or not."""
        return Chosen(self.view, self.view.table.mask_of(rows))


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


def in_order(
    chosen: Chosen, n: int, numbers: npt.NDArray[np.number] | None = None, *, oldest_first: bool = False
) -> Iterator[int]:
    """Yield chosen rows by numbers that all rows have, least first, then by time; the first `n` are sorted alone."""
    times, sign = chosen.view.observed_at, 1 if oldest_first else -1
    keys = sign * times if numbers is None else numbers
    of_chosen = chosen.of(keys)
    is_first = np.asarray(of_chosen <= bound(of_chosen, 2 * n))
    for rows in (chosen.rows[part] for part in (is_first, ~is_first)):
        yield from rows[np.lexsort((sign * rows, sign * times[rows], keys[rows]))].tolist()


Times = npt.NDArray[np.int64]


def last_visit(view: View, visit: SinceLastVisit) -> int:
    """Return when it ended, in nanoseconds, or NEVER; it is looked for once in each view."""
    if visit not in view.last_visits:
        view.last_visits[visit] = _last_visit(view, visit)
    return view.last_visits[visit]


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
