"""Attributes of all memories in RAM, two bytes a memory: so most conditions are tested without reading rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.condition import Attributes
from ..storage import attribute_rows, text_rows
from ..storage.followers import Place
from ..storage.snapshot import Snapshot, Transaction

Ids = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint16]
Test = Callable[[Ids], npt.NDArray[np.bool_]]

_BITS = 10
_PAGE = 1 << _BITS
"""Ids of a page; a page without memories takes no RAM."""
_SPARE = 64
"""Pages more than twice as many as after all were read, from which on all are read again, to free empty ones."""
_PIECE = 8192
"""Memories that are read at once: some 20 ms."""
_AT_ONCE = 1024
"""Up to so many changes are read by the query that sees them; more by maintenance."""
_MOST = 4096
"""Number of different attributes, some in each collection, from which on all conditions read rows."""


@dataclass(frozen=True)
class _Table:
    """A number for each id, 0 for none. Others may read while one thread writes."""

    pages: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    """The row of each page in `numbers`; 0 for a page without memories."""
    numbers: Numbers = field(default_factory=lambda: np.zeros((1, _PAGE), np.uint16))

    def of(self, ids: Ids) -> Numbers:
        page = ids >> _BITS
        rows = np.where((page >= 0) & (page < len(self.pages)), self.pages.take(page, mode="clip"), 0)
        numbers: Numbers = self.numbers[rows, ids & (_PAGE - 1)]
        return numbers

    def with_room(self, ids: Ids) -> _Table:
        page = np.unique(ids >> _BITS)
        pages = np.pad(self.pages, (0, max(int(page.max(initial=0)) + 1 - len(self.pages), 0)))
        new = page[pages[page] == 0]
        if not len(new):
            return self
        pages[new] = len(self.numbers) + np.arange(len(new))
        return _Table(pages, np.concatenate((self.numbers, np.zeros((len(new), _PAGE), np.uint16))))

    def put(self, ids: Ids, numbers: Numbers) -> None:
        self.numbers[self.pages[ids >> _BITS], ids & (_PAGE - 1)] = numbers


class AttributeIndex:
    """A follower with the attributes of all memories of a database. Safe to use from several threads.

    It may know more than the snapshot of a query: then the query leaves out what has been withdrawn since.
    """

    name = "index attributes"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin_again()

    def _begin_again(self) -> None:
        self.progress = Place()
        self._table = _Table()
        self._count = 0
        """Number of memories in the table."""
        self._missing: int | None = None
        """Memories more than in the table, by the counts of the file, when all had been read; None before."""
        self._pages = 0
        """Pages then."""
        self._numbers: dict[Attributes, int] = {}
        self._unread = np.empty(0, np.int64)
        """Memories that changed up to the place `_target`, and are not read yet."""
        self._target = Place()

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Read a few thousand of the memories that changed, at first all."""
        with self._lock:
            if place.revision <= self.progress.revision:
                self.progress = max(self.progress, place)
                return False
            if not len(self._unread):
                self._unread, self._target = attribute_rows.changes_since(snapshot, self.progress.revision).ids, place
            piece, self._unread = self._unread[:_PIECE], self._unread[_PIECE:]
            self._read(snapshot, piece)
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
            if not changes.is_all or len(self._unread) or len(self._numbers) > _MOST:
                return None
            if len(changes.ids):
                self._read(snapshot, changes.ids)
                self.progress = self.progress._replace(revision=changes.last)
                if not self._is_whole(snapshot):
                    self._begin_again()
                    return None
            return Tests(self._table, tuple(self._numbers))

    def _read(self, snapshot: Snapshot, ids: Ids) -> None:
        attributes = attribute_rows.read(snapshot, ids)
        for value in {*attributes.values()} - self._numbers.keys():
            self._numbers[value] = len(self._numbers) + 1
        numbers = np.fromiter(
            (self._numbers[attributes[memory_id]] if memory_id in attributes else 0 for memory_id in ids.tolist()),
            np.uint16, len(ids),
        )  # fmt: skip
        old = self._table.of(ids)
        is_there = (numbers > 0) | (old > 0)
        ids, numbers = ids[is_there], numbers[is_there]
        self._count += int(np.count_nonzero(numbers)) - int(np.count_nonzero(old))
        self._table = self._table.with_room(ids)
        self._table.put(ids, numbers)

    def _is_whole(self, snapshot: Snapshot) -> bool:
        # What came from another file may be gone without a trace of its id, and pages may be empty.
        missing = text_rows.count(snapshot) - self._count
        if self._missing is None:
            self._missing, self._pages = missing, len(self._table.numbers)
        return missing == self._missing and len(self._table.numbers) <= 2 * self._pages + _SPARE


class Tests(NamedTuple):
    """Tests of ids by the attributes of their memories."""

    table: _Table
    attributes: tuple[Attributes, ...]
    """In the order of their numbers, from 1."""

    def of(self, holds: Callable[[Attributes], bool | None]) -> Test | None:
        """Return the test of a condition that holds for some attributes; None if it is not told by them alone."""
        answers = [*map(holds, self.attributes)]
        if None in answers:
            return None
        # Attributes that come into the table later are of memories that this snapshot does not have.
        answer = np.array([False, *answers, False])
        return lambda ids: answer.take(self.table.of(ids), mode="clip")
