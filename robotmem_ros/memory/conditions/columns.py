"""The memories of a file as columns, as a condition sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .places import Field

Mask = npt.NDArray[np.bool_]
"""Of which rows something holds."""
Floats = npt.NDArray[np.float64]
Points = tuple[Floats, Floats, Floats]
"""x, y and z of all rows, in metres."""


class Values(Protocol):
    """Values of all rows, each different one once; ABSENT where a memory has none."""

    def one_of(self, values: Iterable[Any]) -> Mask:
        """Tell which rows have one of some values."""

    def where(self, holds: Callable[[Any], bool]) -> Mask:
        """Tell of which rows something holds, by their values."""


class Table(Protocol):
    """All memories, a row for each: active ones, withdrawn ones, and rows of some that are gone."""

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """Return the id of each row, ascending."""

    @property
    def is_active(self) -> Mask:
        """Tell which rows have a memory that is not withdrawn."""

    @property
    def is_represented(self) -> Mask:
        """Tell which rows have a fact that another one represents."""

    @property
    def observed_at(self) -> npt.NDArray[np.int64]:
        """Return when each was observed, in nanoseconds by the robot's clock."""

    @property
    def stored_confidence(self) -> Floats:
        """Return the confidence of each without decay."""

    @property
    def confirmed(self) -> npt.NDArray[np.int8]:
        """Return 1 for each confirmed object, 0 for one that is not, -1 for what is no object."""

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each now, with the rate of the parameter."""

    def name(self, name: str) -> Values:
        """Return a field with names, such as `label`, by its key, and `kind`; of a list as a tuple."""

    def late(self, name: str) -> Values:
        """Return a field that few queries ask for, or with a dot at its beginning the values at a path of contexts."""

    def points(self, field: Field) -> Points:
        """Return x, y, z of each row in a field; NaN in x without one, in z for one in the plane."""

    def parents(self) -> Mapping[str, str]:
        """Return the tag above each tag that has one."""
