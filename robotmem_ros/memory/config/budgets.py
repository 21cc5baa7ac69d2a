"""Budgets of retention: of all memories, of a collection, of a kind, or of a kind in a collection.

ROS parameters have no maps, so the budgets of parts are a text: `lab: 500 rows, */perception: 30 days, lab/fact: 5 MB`.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from ..clocks import DAY
from ..errors import InvalidFieldError
from ..models import Kind
from ..validation import collection as collection_name

_FIELD = "retention_budgets"
_LEAST_FILE = 1_000_000
_MAX_LIMIT = 2**62


class Measure(str, Enum):
    """Quantity that a budget limits."""

    AGE = "age"
    """Nanoseconds since a memory was last observed or recalled."""
    ROWS = "rows"
    BYTES = "bytes"
    """Bytes of texts, contexts and data, without indexes."""
    FILE = "file"
    """Bytes of the whole file with its write-ahead log."""


_UNITS = {
    "rows": (Measure.ROWS, 1),
    "days": (Measure.AGE, DAY),
    "bytes": (Measure.BYTES, 1),
    "kB": (Measure.BYTES, 10**3),
    "MB": (Measure.BYTES, 10**6),
    "GB": (Measure.BYTES, 10**9),
}


class Budget(NamedTuple):
    """Largest amount of a part of the memories."""

    measure: Measure
    limit: int
    collection: str | None = None
    """None for all collections together."""
    kind: Kind | None = None
    """None for all kinds together."""


def budgets(*, rows: int, size: int, age: float, parts: str) -> tuple[Budget, ...]:
    """Return the budgets of the retention parameters, in the order in which they are enforced; 0 is no limit.

    `size` is in bytes, `age` in days. Age comes first, then narrower parts before wider ones, and the file last.

    Raises:
        InvalidFieldError: a budget is invalid.
    """
    if 0 < size < _LEAST_FILE:
        raise InvalidFieldError("retention_bytes", size, f"must be 0 or at least {_LEAST_FILE}")
    whole = (
        Budget(Measure.AGE, round(age * DAY)),
        Budget(Measure.ROWS, rows),
        Budget(Measure.FILE, size),
    )
    return tuple(sorted((*_parts(parts), *(budget for budget in whole if budget.limit)), key=_place))


def _place(budget: Budget) -> tuple[object, ...]:
    narrowness = 2 * (budget.collection is None) + (budget.kind is None)
    names = budget.collection or "", budget.kind.value if budget.kind else ""
    if budget.measure is Measure.AGE:
        return 0, narrowness, *names, 0
    return 1 + (budget.measure is Measure.FILE), narrowness, *names, budget.measure is Measure.BYTES


@lru_cache(maxsize=8)
def _parts(text: str) -> tuple[Budget, ...]:
    entries = [entry.strip() for entry in text.split(",")] if text.strip() else []
    budgets_of_parts: list[Budget] = []
    for entry in entries:
        budget = _part(entry)
        if any(budget._replace(limit=0) == earlier._replace(limit=0) for earlier in budgets_of_parts):
            raise InvalidFieldError(_FIELD, entry, "is a second budget for the same part")
        budgets_of_parts.append(budget)
    return tuple(budgets_of_parts)


def _part(entry: str) -> Budget:
    part, _, amount = (part.strip() for part in entry.rpartition(":"))
    number, _, unit = amount.partition(" ")
    measure, factor = _UNITS.get(unit.strip(), (None, 0))
    try:
        limit = float(number) * factor
    except ValueError:
        limit = math.nan
    if not part or measure is None or not 0 <= limit <= _MAX_LIMIT:
        problem = f"must be such as `lab: 5000 rows` or `*/perception: 30 days`; units are {', '.join(_UNITS)}"
        raise InvalidFieldError(_FIELD, entry, problem)
    collection, slash, kind = part.rpartition("/")
    if slash and kind == Kind.NOTE.value:
        raise InvalidFieldError(_FIELD, entry, "limits notes, which are as many as their files make them")
    if not slash or kind not in {member.value for member in Kind}:
        collection, kind = part, ""
    name = collection_name(_FIELD, collection, wildcard="") or None
    return Budget(measure, round(limit), name, Kind(kind) if kind else None)
