"""Select the memories under conditions, and put them in order: rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..conditions.condition import Condition
from ..conditions.spatial import SinceLastVisit
from ..table.column import Mask, Rows, bound
from ..table.view import View
from .visits import last_visit


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
