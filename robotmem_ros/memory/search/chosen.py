"""The memories among which a recall searches: rows of a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..table.column import Array, Mask, Rows
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
