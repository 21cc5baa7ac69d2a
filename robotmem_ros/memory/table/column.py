"""Columns in RAM, a row for each memory: of numbers, and of values, each different one kept once.

Rows are added behind the last one, where no reader looks. Rows that a reader may look at are changed in a copy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ..validation import MAX_COORDINATE

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
"""Numbers of rows, ascending."""
Coded = tuple[Sequence[Any], Array]
"""Different values, and the number of that of each row."""
_SPARE = 1024
_PART = 128
"""Rows in each part of a column; the least of every part is looked at."""
_FEW = 4
"""So many values are sooner compared one by one than looked up."""
_UNUSED = 4096
"""So many values more than rows, of which no row has most, are too many."""


class Numbers:
    """A number in each row."""

    def __init__(self, room: Array, size: int) -> None:
        self._room = room
        self.size = size
        self.all: Array = room[:size]
        """The numbers of all rows."""

    @classmethod
    def of(cls, dtype: npt.DTypeLike) -> Numbers:
        """Return a column without rows."""
        return cls(np.empty(0, dtype), 0)

    def put(self, rows: Rows, numbers: Array, size: int, *, shared: bool) -> Numbers:
        """Return the column with numbers in some rows, all that are new among them, in place unless it is shared."""
        room = self._room
        if size > len(room):
            room = np.empty(size + size // 8 + _SPARE, room.dtype)
            room[: self.size] = self.all
        elif shared and (old := rows[: np.searchsorted(rows, self.size)]).size and _differ(room[old], numbers):
            room = room.copy()
        room[rows] = numbers
        return Numbers(room, size)

    def widened(self, dtype: npt.DTypeLike) -> Numbers:
        """Return it with room for greater numbers."""
        return self if self._room.dtype == dtype else Numbers(self._room.astype(dtype), self.size)


class Column:
    """Values of all rows, each different one once: what holds of values is asked once for each.

    The values only grow, so all that share a column share them.
    """

    def __init__(self, codes: Numbers, values: list[Any], numbers: dict[Hashable, int]) -> None:
        self._codes, self.values, self._numbers = codes, values, numbers
        self.codes: Array = codes.all
        """The number of the value in each row."""

    @classmethod
    def empty(cls) -> Column:
        """Return a column without rows."""
        return cls(Numbers.of(np.uint8), [], {})

    def put(self, rows: Rows, values: Sequence[Any], size: int, *, shared: bool) -> Column:
        """Return the column with values in some rows, as `Numbers.put` does."""
        return self._put(rows, self._codes_of(values), size, shared=shared)

    def put_coded(self, rows: Rows, coded: Coded, size: int, *, shared: bool) -> Column:
        """Return the column with coded values in some rows, as `Numbers.put` does."""
        values, codes = coded
        return self._put(rows, np.array(self._codes_of(values), np.int32).take(codes), size, shared=shared)

    def coded(self, rows: Rows) -> Coded:
        """Return the values of some rows."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return [self.values[number] for number in used.tolist()], codes.astype(self.codes.dtype)

    def one_of(self, values: Iterable[Any]) -> Mask:
        """Tell which rows have one of some values."""
        numbers = [number for value in values if (number := self._numbers.get(key_of(value))) is not None]
        if len(numbers) <= _FEW:
            nothing = np.zeros(len(self.codes), bool)
            return reduce(np.logical_or, (self.codes == number for number in numbers), nothing)
        return self._holding(np.isin(np.arange(len(self.values)), numbers))

    def where(self, holds: Callable[[Any], bool]) -> Mask:
        """Tell of which rows something holds, by their values."""
        return self._holding(np.fromiter(map(holds, self.values), bool, len(self.values)))

    def counts(self, rows: Mask) -> list[tuple[Any, int]]:
        """Count some rows by their values; a value that none of them has is left out."""
        numbers = np.bincount(self.codes[rows], minlength=len(self.values))
        return [(self.values[code], int(numbers[code])) for code in np.flatnonzero(numbers).tolist()]

    def mapped(self, of: Callable[[Any], Any]) -> Column:
        """Return the column of what follows from each value."""
        numbers: dict[Hashable, int] = {}
        codes = np.array([numbers.setdefault(of(value), len(numbers)) for value in self.values], self.codes.dtype)
        return Column(Numbers(codes.take(self.codes), len(self.codes)), [*numbers], numbers)

    def value(self, row: int) -> Any:
        """Return the value of a row."""
        return self.values[self.codes[row]]

    def points(self) -> tuple[Floats, Floats, Floats]:
        """Return x, y, z of each row; NaN in all where the value is no point, and in z where it is one in the plane."""
        points = np.full((3, len(self.values)), np.nan)
        for number, value in enumerate(self.values):
            if is_point(value):
                points[: len(value), number] = value
        x, y, z = (axis.take(self.codes) for axis in points)
        return x, y, z

    def _holding(self, holds: Mask) -> Mask:
        return np.ones(len(self.codes), bool) if holds.all() else holds.take(self.codes)

    def _codes_of(self, values: Sequence[Any]) -> list[int]:
        numbers, known = self._numbers, len(self._numbers)
        with suppress(KeyError, TypeError):  # texts and tuples are their own keys, and most are known
            return [*map(numbers.__getitem__, values)]
        keys = [*map(key_of, values)]
        codes = [numbers.setdefault(key, len(numbers)) for key in keys]
        new = {key: value for key, value in zip(keys, values, strict=True) if numbers[key] >= known}
        self.values.extend(new.values())
        return codes

    def _put(self, rows: Rows, codes: npt.ArrayLike, size: int, *, shared: bool) -> Column:
        count = len(self.values)
        dtype = np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.int32
        wide = self._codes.widened(np.promote_types(dtype, self.codes.dtype))
        column = Column(
            wide.put(rows, np.asarray(codes, wide.all.dtype), size, shared=shared), self.values, self._numbers
        )
        return column._packed() if count > 2 * size + _UNUSED else column

    def _packed(self) -> Column:
        values, codes = self.coded(np.arange(len(self.codes)))
        numbers = {key_of(value): number for number, value in enumerate(values)}
        return Column(Numbers(codes, len(codes)), [*values], numbers)


def key_of(value: Any) -> Hashable:
    """Return what is the same for values that are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    kind = type(value)
    if isinstance(value, (str, tuple)):
        return value
    if kind is list or kind is dict:
        return kind, json.dumps(value)
    return float if kind is int else kind, value


def is_point(value: Any) -> bool:
    """Tell whether a value of a context is a position, of two or three numbers in metres."""
    return (
        isinstance(value, list)
        and len(value) in (2, 3)
        and all(type(part) in (int, float) and abs(part) <= MAX_COORDINATE for part in value)
    )


def bound(numbers: npt.NDArray[np.number], n: int) -> float:
    """Return a number that is no less than the `n` least of some numbers, and little greater; infinite if all are."""
    if n >= len(numbers):
        return math.inf
    whole = len(numbers) - len(numbers) % _PART
    if n * _PART < whole:  # as many parts have one that is no greater
        # Rows that stand together are much alike, and so go to different parts; and whole rows are compared at once.
        numbers = numbers[:whole].reshape(_PART, -1).min(axis=0)
    return float(np.partition(numbers, n - 1)[n - 1])


def _differ(before: Array, after: Array) -> bool:
    return not np.array_equal(before, after[: len(before)], equal_nan=before.dtype.kind == "f")
