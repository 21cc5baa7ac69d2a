"""Attributes of all memories in RAM, and which vector each has: most conditions are tested without reading rows.

The vector of a memory is read with its attributes, or when a query asks for it first, and forgotten when the memory
changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..conditions.condition import Attributes
from ..conditions.decay import Decay
from ..conditions.sql import Test
from ..errors import StorageError
from ..models import Kind
from ..storage import attribute_rows, revisions, text_rows, vector_rows
from ..storage.followers import Place, place
from ..storage.overview import overview
from ..storage.snapshot import Snapshot, Transaction
from .number_table import NumberTable

T = TypeVar("T")
Ids = npt.NDArray[np.int64]

_SPARE = 64
"""Pages more than twice as many as after all were read, from which on all are read again, to free empty ones."""
_PIECE = 8192
"""Memories that are read at once: some 20 ms."""
_AT_ONCE = 1024
"""Up to so many changes are read by the query that sees them; more by maintenance."""
_MOST = 4096
"""Number of different attributes, some in each collection, from which on all conditions read rows.

Likewise for labels and their conditions.
"""
_OTHER = _MOST + 1
"""The number that all others have."""


class AttributeIndex:
    """A follower with the attributes of all memories of a database. Safe to use from several threads.

    It may know more than the snapshot of a query: then the query leaves out what has been withdrawn since, and reads
    labels and confidences from rows.
    """

    name = "index attributes"

    def __init__(self, rate: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._current_rate = rate
        self._begin_again()

    def _begin_again(self) -> None:
        self.progress = Place()
        self._decay = Decay(self._current_rate(), 0)
        """How the memories in the table decay."""
        self._table = NumberTable()
        self._count = 0
        """Number of memories in the table."""
        self._missing: int | None = None
        """Memories more than in the table, by the counts of the file, when all had been read; None before."""
        self._pages = 0
        """Pages then."""
        self._numbers: dict[Attributes, int] = {}
        self._labels: dict[str, int] = {"": 0}
        """The number of each label, by its key."""
        self._model: str | None = None
        """Model of the vectors in the table."""
        self._unread = np.empty(0, np.int64)
        """Memories that changed up to the place `_target`, and are not read yet."""
        self._target = Place()

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Read a few thousand of the memories that changed, at first all."""
        with self._lock:
            if self._current_rate() != self._decay.rate:
                self._begin_again()
            if place.revision <= self.progress.revision:
                self.progress = max(self.progress, place)
                return False
            if not len(self._unread):
                self._unread, self._target = attribute_rows.changes_since(snapshot, self.progress.revision).ids, place
            piece, self._unread = self._unread[:_PIECE], self._unread[_PIECE:]
            self._read(snapshot, piece)
            with suppress(StorageError):  # queries by words need no table of vectors
                self._forget_former_model(snapshot)
                self._table.put_vectors(*vector_rows.ids_of(snapshot, piece))
            if not len(self._unread):
                self.progress = self._target
                if self.progress == place and not self._is_whole(snapshot):
                    self._begin_again()
            return self.progress != place

    def tests(self, snapshot: Snapshot) -> Tests | None:
        """Return tests by the attributes of a snapshot, or newer ones; None if too many memories are not read yet."""
        if isinstance(snapshot, Transaction):
            return None
        with self._lock:
            changes = attribute_rows.changes_since(snapshot, self.progress.revision, _AT_ONCE)
            if not changes.is_all or len(self._unread) or len(self._numbers) == _MOST:
                return None
            if len(changes.ids):
                self._read(snapshot, changes.ids)
                self.progress = self.progress._replace(revision=changes.last)
                if not self._is_whole(snapshot):
                    self._begin_again()
                    return None
            return self._tests(snapshot)

    def _tests(self, snapshot: Snapshot) -> Tests:
        is_newer = self.progress.revision > snapshot.read_once(revisions.latest)
        today = overview(snapshot).lived_days + attribute_rows.FIRST_DAY
        return Tests(
            self._table, tuple(self._numbers), self._decay.rate,
            None if is_newer or len(self._labels) == _MOST else self._labels,
            None if is_newer or today >= attribute_rows.MAX_DAY else today,
        )  # fmt: skip

    def vectors_of(self, snapshot: Snapshot, ids: Ids) -> Ids:
        """Return the vector of each of some sorted memories; 0 for one without a vector."""
        knows_changes = snapshot.read_once(self.tests) is not None
        with self._lock:
            self._forget_former_model(snapshot)
            vectors = self._table.vectors_of(ids) if knows_changes else np.zeros_like(ids)
        unread = np.flatnonzero(vectors == 0)
        if len(unread):
            memory_ids, vector_ids = vector_rows.ids_of(snapshot, ids[unread])
            vectors[unread[np.searchsorted(ids[unread], memory_ids)]] = vector_ids
            with self._lock:
                # What a snapshot tells of a memory that has changed since would stay.
                if knows_changes and place(snapshot).revision >= self.progress.revision:
                    self._table.put_vectors(memory_ids, vector_ids)
        return vectors

    def _forget_former_model(self, snapshot: Snapshot) -> None:
        if self._model != (model := overview(snapshot).model):
            self._model = model
            self._table.clear_vectors()

    def _read(self, snapshot: Snapshot, ids: Ids) -> None:
        numbers, labels, days = np.zeros((3, len(ids)), np.uint16)
        for group in attribute_rows.read(snapshot, ids, self._decay):
            at = np.searchsorted(ids, group.ids)
            numbers[at], days[at] = _number(self._numbers, group.attributes, 1), group.last_days
            labels[at] = [_number(self._labels, label, 0) for label in group.labels]
        old = self._table.of(ids)
        is_there = (numbers > 0) | (old > 0)
        ids, numbers, labels, days = ids[is_there], numbers[is_there], labels[is_there], days[is_there]
        self._count += int(np.count_nonzero(numbers)) - int(np.count_nonzero(old))
        self._table = self._table.with_room(ids).with_rows(ids, numbers, labels, days)

    def _is_whole(self, snapshot: Snapshot) -> bool:
        # What came from another file may be gone without a trace of its id, and pages may be empty.
        missing = text_rows.count(snapshot) - self._count
        if self._missing is None:
            self._missing, self._pages = missing, self._table.page_count
        return missing == self._missing and self._table.page_count <= 2 * self._pages + _SPARE


def _number(numbers: dict[T, int], value: T, first: int) -> int:
    # The number of a value: a new one as long as there are not too many.
    if value not in numbers and len(numbers) < _MOST:
        numbers[value] = first + len(numbers)
    return numbers.get(value, _OTHER)


class Tests(NamedTuple):
    """Tests of ids by the attributes of their memories, as `Columns` of conditions describe them."""

    table: NumberTable
    attributes: tuple[Attributes, ...]
    """In the order of their numbers, from 1."""
    rate: float
    """The rate of decay, by which the memories have their last days."""
    labels: Mapping[str, int] | None
    """The number of each label, by its key; None if the table does not tell those of the snapshot."""
    today: int | None
    """The lived day of the snapshot; None if the table does not tell what is fresh on it."""

    def of(self, holds: Callable[[Attributes], bool]) -> Test:
        """Return the test of what holds for some attributes."""
        # Attributes that come into the table later are of memories that this snapshot does not have.
        answer = np.array([False, *map(holds, self.attributes), False])
        return lambda ids: answer.take(self.table.of(ids), mode="clip")

    def of_labels(self, labels: Collection[str]) -> Test | None:
        """Return the test for one of some labels, by their keys; None if the table does not tell it."""
        if self.labels is None:
            return None
        numbers = [number for label in labels if (number := self.labels.get(label))]
        return lambda ids: np.isin(self.table.labels_of(ids), numbers)

    def of_fresh(self, decay: Decay) -> Test | None:
        """Return the test for as much confidence as recall asks for by default; None as in `of_labels`."""
        today = self._today(decay)
        return None if today is None else lambda ids: self.table.days_of(ids) >= today

    def of_faded(self, decay: Decay) -> Test | None:
        """Return the test for as much confidence once, and less now; None as in `of_labels`."""
        today = self._today(decay)
        return None if today is None else lambda ids: _has_passed(self.table.days_of(ids), today)

    def count_fresh(self, decay: Decay) -> int | None:
        """Count those for which `of_fresh` holds; None as there."""
        today = self._today(decay)
        return None if today is None else int(np.count_nonzero(self.table.days >= today))

    def may_have_faded(self, decay: Decay) -> bool:
        """Tell whether any memory but notes may have faded."""
        today = self._today(decay)
        if today is None:
            return True
        counts = [False, *(row.is_active and row.kind is not Kind.NOTE for row in self.attributes), False]
        have_passed = _has_passed(self.table.days, today)
        # Page by page, since mostly the first page with any tells.
        pages = (self.table.numbers[page][have_passed[page]] for page in np.flatnonzero(have_passed.any(axis=1)))
        return any(np.array(counts).take(numbers, mode="clip").any() for numbers in pages)

    def _today(self, decay: Decay) -> int | None:
        return self.today if decay.rate == self.rate else None


def _has_passed(days: npt.NDArray[np.uint16], today: int) -> npt.NDArray[np.bool_]:
    return (days > 0) & (days < today)
