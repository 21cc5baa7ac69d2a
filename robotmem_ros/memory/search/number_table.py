"""Keep four numbers for each id in pages: ten bytes an id, none for empty pages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint16]

_BITS = 10
_PAGE = 1 << _BITS
"""Ids of a page."""


@dataclass(frozen=True)
class NumberTable:
    """The numbers of attributes, label, last day and vector of each id, 0 for none.

    Others may read while one thread writes. The number of an id's attributes says that it is there; only such an id has
    a vector.
    """

    pages: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    """Where each page begins in the others, behind one for negative ids; 0 for it, the last and empty ones."""
    numbers: Numbers = field(default_factory=lambda: np.zeros((1, _PAGE), np.uint16))
    labels: Numbers = field(default_factory=lambda: np.zeros((1, _PAGE), np.uint16))
    days: Numbers = field(default_factory=lambda: np.zeros((1, _PAGE), np.uint16))
    vectors: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros((1, _PAGE), np.uint32))

    @property
    def page_count(self) -> int:
        """Number of pages in RAM."""
        return len(self.numbers)

    def of(self, ids: Ids) -> Numbers:
        """Return the numbers of some ids."""
        return self.numbers.take(self._at(ids))

    def labels_of(self, ids: Ids) -> Numbers:
        """Return the labels of some ids."""
        return self.labels.take(self._at(ids))

    def days_of(self, ids: Ids) -> Numbers:
        """Return the last days of some ids."""
        return self.days.take(self._at(ids))

    def vectors_of(self, ids: Ids) -> Ids:
        """Return the vectors of some ids."""
        return self.vectors.take(self._at(ids)).astype(np.int64)

    def with_room(self, ids: Ids) -> NumberTable:
        """Return a table that has the pages of some ids, too; this one if it has them."""
        page = np.unique(ids >> _BITS) + 1
        pages = np.pad(self.pages, (0, max(int(page.max(initial=0)) + 2 - len(self.pages), 0)))
        new = page[pages[page] == 0]
        if not len(new):
            return self
        pages[new] = (len(self.numbers) + np.arange(len(new))) << _BITS
        columns = self.numbers, self.labels, self.days, self.vectors
        return NumberTable(pages, *(np.concatenate((old, np.zeros((len(new), _PAGE), old.dtype))) for old in columns))

    def with_rows(self, ids: Ids, numbers: Numbers, labels: Numbers, days: Numbers) -> NumberTable:
        """Return a table that has these of ids with a page, and no vectors of them.

        Labels and days of the ids that are there stay as they are in this table.
        """
        at = self._at(ids)
        is_changed = ((self.labels.take(at) != labels) | (self.days.take(at) != days)) & (self.numbers.take(at) > 0)
        table = replace(self, labels=self.labels.copy(), days=self.days.copy()) if is_changed.any() else self
        table.labels.put(at, labels)
        table.days.put(at, days)
        table.numbers.put(at, numbers)
        table.vectors.put(at, 0)
        return table

    def put_vectors(self, ids: Ids, vectors: Ids) -> None:
        """Set the vectors of those ids that are there."""
        is_here = self.of(ids) > 0
        self.vectors.put(self._at(ids[is_here]), vectors[is_here])

    def clear_vectors(self) -> None:
        """Forget all vectors."""
        self.vectors[:] = 0

    def _at(self, ids: Ids) -> Ids:
        # What lies outside of all pages is looked for in the empty one, which is the first row.
        return self.pages.take((ids >> _BITS) + 1, mode="clip") + (ids & (_PAGE - 1))
