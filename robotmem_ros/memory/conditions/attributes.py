"""Conditions on what a memory is: its collection, kind, confidence, names, tags, id and time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta, timezone

import numpy as np

from ..clocks import DAY, FIRST_OF_WALL_CLOCKS
from ..fellow_robots import with_others
from ..models import Kind
from ..text.normal_form import label_key
from .condition import Condition, Mask, Row, Table
from .decay import DEFAULT_CONFIDENCE, Decay


@dataclass(frozen=True)
class Collections(Condition):
    """The collections to search; none for all."""

    names: tuple[str, ...]
    suffices: bool
    of_notes: tuple[str, ...] = ()
    """Collections of which the notes are searched as well."""
    is_evidence = False

    def including(self, others: Iterable[str]) -> Collections:
        """Return them with the collections of other robots that belong to them."""
        return replace(self, names=with_others(self.names, others)) if others and self.names else self

    def matches(self, row: Row) -> bool:
        """Tell whether a memory is in one of them."""
        return self._has(row.kind, row.collection)

    def mask(self, table: Table) -> Mask:
        """Tell which rows are in one of them."""
        if not self.names:
            return np.ones(len(table.ids), bool)
        mask = table.name("collection").one_of(self.names)
        if not self.of_notes:
            return mask
        notes = table.name("kind").one_of([Kind.NOTE]) & table.name("collection").one_of(self.of_notes)
        return np.asarray(mask | notes)

    def _has(self, kind: Kind, collection: str) -> bool:
        is_note = kind is Kind.NOTE and collection in self.of_notes
        return not self.names or collection in self.names or is_note

    def __str__(self) -> str:
        """Return them as part of a sentence, after a noun."""
        names = ", ".join(map(repr, self.names))
        return f" of the collection{'s' if len(self.names) > 1 else ''} {names}" if self.names else ""


@dataclass(frozen=True)
class Kinds(Condition):
    """Memories of some kinds."""

    kinds: tuple[Kind, ...]
    suffices: bool
    is_evidence = False

    def matches(self, row: Row) -> bool:
        """Tell whether a memory is of one of them."""
        return row.kind in self.kinds

    def mask(self, table: Table) -> Mask:
        """Tell which rows are of one of them."""
        return table.name("kind").one_of(self.kinds)


@dataclass(frozen=True)
class OneOf(Condition):
    """One of some names in a column of `memories` with an index, which leaves out the empty text."""

    name: str
    """Kind of the names: `session_id`, `category` or `label`."""
    values: tuple[str, ...]
    """Names; labels by their keys."""

    @property
    def column(self) -> str:
        """Return the column that has them."""
        return "label_key" if self.name == "label" else self.name

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has one of them."""
        value = str(getattr(row, self.name))
        return (label_key(value) if self.name == "label" else value) in self.values

    def mask(self, table: Table) -> Mask:
        """Tell which rows have one of them."""
        return table.name(self.name).one_of(self.values)


@dataclass(frozen=True)
class Tags(Condition):
    """All of some tags, or any of them; those that stand under a tag in the tree count as the tag."""

    tags: tuple[str, ...]
    is_any: bool = False

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has them."""
        return any(tag in row.tags for tag in self.tags) if self.is_any else set(self.tags) <= {*row.tags}

    def mask(self, table: Table) -> Mask:
        """Tell which rows have them."""
        parents, some = table.parents(), any if self.is_any else all
        return table.name("tags").where(lambda tags: some(map(with_parents(tags, parents).__contains__, self.tags)))


@dataclass(frozen=True)
class Ids(Condition):
    """Some memories, by their ids."""

    ids: tuple[int, ...]

    def matches(self, row: Row) -> bool:
        """Tell whether a memory is one of them."""
        return row.id in self.ids

    def mask(self, table: Table) -> Mask:
        """Tell which rows are those."""
        return np.isin(table.ids, np.array(self.ids, np.int64))


@dataclass(frozen=True)
class Window(Condition):
    """Observed in a time, in nanoseconds by the robot's clock; one of the two bounds may be None."""

    after: int | None
    """First time that belongs to it."""
    before: int | None
    """First time behind it."""

    def matches(self, row: Row) -> bool:
        """Tell whether a memory was observed in it."""
        is_early = self.after is not None and row.observed_at < self.after
        return not is_early and (self.before is None or row.observed_at < self.before)

    def mask(self, table: Table) -> Mask:
        """Tell which rows were observed in it."""
        after = self.after is None or table.observed_at >= self.after
        before = self.before is None or table.observed_at < self.before
        return np.asarray(after & before)


@dataclass(frozen=True)
class Since(Condition):
    """Observed at a time or after it, by what is known now: a `Window` has an object as it was, this as it is."""

    time: int
    """Nanoseconds since the epoch, by the robot's clock."""

    def matches(self, row: Row) -> bool:
        """Tell whether a memory was observed since then."""
        return row.observed_at >= self.time

    def mask(self, table: Table) -> Mask:
        """Tell which rows were observed since then."""
        return np.asarray(table.observed_at >= self.time)


@dataclass(frozen=True)
class AsOf(Condition):
    """Known at a time, in nanoseconds by the robot's clock: a query with it asks another view, see `table.past`."""

    at: int
    is_evidence = False

    def matches(self, row: Row) -> bool:
        """Tell whether a memory was observed by then."""
        return row.observed_at <= self.at

    def mask(self, table: Table) -> Mask:
        """Tell which rows were observed by then."""
        return np.asarray(table.observed_at <= self.at)


class _OfView(Condition):
    """Objects that another view has alone: a query asks that view, as by AsOf."""

    def matches(self, row: Row) -> bool:
        """Tell that it holds: the view has nothing else."""
        return True

    def mask(self, table: Table) -> Mask:
        """Tell that it holds for all rows: the view has nothing else."""
        return np.ones(len(table.ids), bool)


@dataclass(frozen=True)
class ChangedSince(_OfView):
    """Objects that changed since a time, in nanoseconds by the robot's clock."""

    time: int


_DAYS, _DAYS_OF_WEEKDAY = 28, 84
"""Days of which habits are; so far back a weekday is looked for."""
_ENOUGH = 3
"""Days of a weekday that tell of it."""


@dataclass(frozen=True)
class UsuallyAt(_OfView):
    """Objects where they usually are at a time of day, in local time."""

    text: str
    """As the caller wrote it."""
    time: time
    weekday: int | None
    """0 is Monday; None for each day."""
    now: int
    """Nanoseconds since the epoch, by the robot's clock."""

    @property
    def since(self) -> int:
        """Return the time before which nothing is asked, in nanoseconds since the epoch."""
        return max(self.now - _DAYS_OF_WEEKDAY * DAY, 0)

    def moments(self, since: int) -> list[int]:
        """Return when it was that time in the last four weeks, not before a time, the latest first, in nanoseconds.

        With a weekday, those of the last twelve weeks, if they are three at least.
        """
        every_day = self._moments(since, _DAYS, range(7))
        on_weekday = [] if self.weekday is None else self._moments(since, _DAYS_OF_WEEKDAY, (self.weekday,))
        return on_weekday if len(on_weekday) >= _ENOUGH else every_day

    def _moments(self, since: int, days: int, weekdays: Container[int]) -> list[int]:
        zone = timezone.utc if self.now < FIRST_OF_WALL_CLOCKS else None  # a simulation has no zone
        today = datetime.fromtimestamp(self.now / 1e9, zone).date()
        dates = (today - timedelta(days=nth) for nth in range(days) if today.toordinal() > nth)
        times = (datetime.combine(date, self.time, zone).timestamp() for date in dates if date.weekday() in weekdays)
        return [at for at in (round(time) * 10**9 for time in times) if since <= at <= self.now]


@dataclass(frozen=True)
class Confidence(Condition):
    """At least so much confidence now."""

    minimum: float
    decay: Decay
    is_default: bool = False
    """Whether the caller named no bound: then faded memories are the result if nothing else is."""
    suffices = False
    is_evidence = False

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has it."""
        return row.confidence >= self.minimum

    def mask(self, table: Table) -> Mask:
        """Tell which rows have it."""
        return np.asarray(table.confidence(self.decay.rate) >= self.minimum)


@dataclass(frozen=True)
class Faded(Condition):
    """As much confidence as recall asks for by default once, and less now."""

    decay: Decay
    suffices = False
    is_evidence = False

    def matches(self, row: Row) -> bool:
        """Tell whether a memory has faded."""
        return row.confidence < DEFAULT_CONFIDENCE <= row.stored_confidence

    def mask(self, table: Table) -> Mask:
        """Tell which rows have faded."""
        is_less = table.confidence(self.decay.rate) < DEFAULT_CONFIDENCE
        return np.asarray(is_less & (table.stored_confidence >= DEFAULT_CONFIDENCE))


@dataclass(frozen=True)
class ConfirmedObjects(Condition):
    """No objects that are not confirmed."""

    suffices = False
    is_evidence = False

    def matches(self, row: Row) -> bool:
        """Tell whether a memory is a confirmed object, or none."""
        return row.confirmed is not False

    def mask(self, table: Table) -> Mask:
        """Tell which rows are confirmed objects, or none."""
        return np.asarray(table.confirmed != 0)


@dataclass(frozen=True)
class Representatives(Condition):
    """No facts that another one represents."""

    suffices = False
    is_evidence = False

    def matches(self, row: Row) -> bool:
        """Tell whether no other memory represents it."""
        return not row.is_represented

    def mask(self, table: Table) -> Mask:
        """Tell which rows no other one represents."""
        return ~table.is_represented


def with_parents(tags: Iterable[str], parents: Mapping[str, str]) -> frozenset[str]:
    """Return some tags and all that stand above them."""
    found = {*tags}
    for tag in tags:
        while (tag := parents.get(tag, "")) and tag not in found:
            found.add(tag)
    return frozenset(found)
