"""A table as the snapshot of a query sees it: what conditions and searches ask for."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..conditions.attributes import Collections, Confidence, ConfirmedObjects, Faded, Kinds
from ..conditions.condition import ABSENT, Condition, Points
from ..conditions.decay import share_left
from ..conditions.places import POSITION, Field
from ..storage import table_rows, tag_rows
from ..storage.overview import Overview, overview
from ..storage.snapshot import Snapshot
from .column import Column, Floats, Mask
from .table import Ids, Table
from .vectors import Vectors, VectorsInFile

T = TypeVar("T")
_DERIVED = 16
"""So many things are kept that follow from a table."""


class View:
    """All memories of a file as columns, on one snapshot of the database: a `conditions.condition.Table`."""

    def __init__(self, table: Table, snapshot: Snapshot) -> None:
        numbers = {name: column.all for name, column in table.numbers.items()}
        self.table, self.snapshot = table, snapshot
        self.ids: Ids = table.ids
        """The id of each row, ascending."""
        self.is_active: Mask = numbers["is_active"]
        """Which rows have a memory that is not withdrawn."""
        self.is_present: Mask = table.present.all
        """Which rows have a memory, withdrawn or not."""
        self.is_represented: Mask = numbers["is_represented"]
        """Which rows have a fact that another one represents."""
        self.observed_at: Ids = numbers["observed_at"]
        """When each was observed, in nanoseconds by the robot's clock."""
        self.stored_confidence: Floats = numbers["confidence"]
        """The confidence of each without decay."""
        self.confirmed: npt.NDArray[np.int8] = numbers["confirmed"]
        """1 for each confirmed object, 0 for one that is not, -1 for what is no object."""
        self.pose: Points = numbers["x"], numbers["y"], numbers["z"]
        """x, y, z of each; NaN without a pose."""
        self._counted: dict[str, Column] = {}
        self._confidences: dict[float, Floats] = {}

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
        return bool((self.table.numbers["confirmed"].all == 0).any())

    @cached_property
    def overview(self) -> Overview:
        """Return what nearly every query needs to know of the file."""
        return overview(self.snapshot)

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each now, with the rate of the parameter: each rate and age is computed once."""
        if rate not in self._confidences:
            decay, days = self.table.names["decay"], self.overview.lived_days
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
                (type(condition), minimum, condition.decay.rate, self.overview.lived_days), lambda: condition.mask(self)
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
