"""The words of all rows: which rows hold them, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .column import Floats, Mask, Numbers, Rows
from .segment import SPAN, Postings, Segment, are_among

_RATIO = 4
"""A segment is taken into the next one if it has less than this many times as many rows."""

Repeats = tuple[float, Rows, npt.NDArray[np.int64]]
"""A weight, rows that hold its term more than once, and how often."""


class _Part(NamedTuple):
    """A segment, and which of its docs are still as it has them."""

    segment: Segment
    current: Mask | None = None
    """None for all."""

    @property
    def mask(self) -> Mask:
        return np.ones(len(self.segment.rows), bool) if self.current is None else self.current

    def postings(self, term: Sequence[str]) -> Postings:
        """Return the postings of current docs."""
        postings = self.segment.postings(term)
        return postings if self.current is None else postings.only(self.current)

    def docs_of(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the current docs of those of some rows, ascending, that it has, and where these stand among them."""
        own = self.segment.rows
        first, last = np.searchsorted(rows, (own[0], own[-1] + 1)) if len(own) else (0, 0)
        docs = np.searchsorted(own, rows[first:last])
        is_here = own.take(docs, mode="clip") == rows[first:last]
        if self.current is not None:
            is_here &= self.current.take(docs, mode="clip")
        return docs[is_here], first + np.flatnonzero(is_here)

    def without(self, rows: Rows) -> _Part:
        """Return it without some rows."""
        docs = np.flatnonzero(are_among(self.segment.rows, rows))
        if not len(docs):
            return self
        current = self.mask.copy()
        current[docs] = False
        return _Part(self.segment, current)


class Found:
    """The rows that hold a term, in parts."""

    def __init__(self, parts: Sequence[tuple[Rows, Postings]]) -> None:
        self._parts = parts

    def postings(self, number: int) -> Postings:
        """Return those of a part."""
        return self._parts[number][1]

    def count(self, searched: Mask | None) -> int:
        """Count them: all, or those of a mask."""
        if searched is None:
            return sum(len(postings.docs) for _, postings in self._parts)
        return sum(int(np.count_nonzero(searched[rows[postings.docs]])) for rows, postings in self._parts)

    def add_to(self, sums: Floats, repeats: list[Repeats], weight: float, only: Mask | None = None) -> None:
        """Add a weight to the sum of each, or of those of a mask; note those that hold the term more than once."""
        for rows, found in self._parts:
            postings = found if only is None else found.only(only[rows])
            if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
                postings.add_to(sums[rows[0] : rows[-1] + 1], weight)
            else:
                sums[rows[postings.docs]] += weight
            if len(postings.repeats):
                repeats.append((weight, rows[postings.repeats], postings.counts))


class Words:
    """Where each word stands in the texts of all rows, in segments: each row is current in one of them at most."""

    def __init__(self, parts: tuple[_Part, ...], lengths: Numbers) -> None:
        self._parts = parts
        self._lengths = lengths

    @classmethod
    def empty(cls) -> Words:
        """Return the words of no rows."""
        return cls((), Numbers.of(np.uint32))

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """Return the number of words of each row."""
        return self._lengths.all

    def put(self, rows: Rows, texts: Sequence[str], size: int, *, shared: bool) -> Words:
        """Return them with the indexed texts of some rows, as `Numbers.put` does; an empty text is that of no row."""
        words = self.without(rows[: np.searchsorted(rows, self._lengths.size)], shared=shared)
        parts, lengths = words._parts, np.zeros(len(rows), np.uint32)
        filled = np.flatnonzero([bool(text) for text in texts])
        for first in range(0, len(filled), SPAN):
            at = filled[first : first + SPAN]
            segment, lengths[at] = Segment.of(rows[at], [texts[number] for number in at.tolist()])
            parts = _with_part(parts, _Part(segment))
        return Words(parts, words._lengths.put(rows, lengths, size, shared=shared))

    def put_codes(self, rows: Rows, codes: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], size: int) -> Words:
        """Return them with words that are given by their codes: of some rows, one behind the other, as `put` does."""
        words = self.without(rows[: np.searchsorted(rows, self._lengths.size)], shared=True)
        parts, ends = words._parts, np.concatenate(([0], np.cumsum(sizes)))
        for first in range(0, len(rows), SPAN):
            at = slice(first, first + SPAN)
            of_rows = codes[ends[first] : ends[min(first + SPAN, len(rows))]]
            parts = _with_part(parts, _Part(Segment.of_codes(rows[at], of_rows, sizes[at])))
        return Words(parts, words._lengths.put(rows, sizes.astype(np.uint32), size, shared=True))

    def put_segment(self, segment: Segment, lengths: npt.NDArray[np.uint32], size: int, *, shared: bool) -> Words:
        """Return them with the words of the last rows, which are new; `lengths` are those of all of these."""
        rows = np.arange(size - len(lengths), size)
        return Words(_with_part(self._parts, _Part(segment)), self._lengths.put(rows, lengths, size, shared=shared))

    def segment(self, rows: Rows) -> Segment:
        """Return the words of some rows, SPAN at most, by their positions among these."""
        parts = [(part.segment, part.mask & are_among(part.segment.rows, rows)) for part in self._parts]
        segment = Segment.merged([(one, mask) for one, mask in parts if mask.any()])
        return replace(segment, rows=np.searchsorted(rows, segment.rows))

    def without(self, rows: Rows, *, shared: bool) -> Words:
        """Return them without those of some rows."""
        if not len(rows):
            return self
        nothing = np.zeros(len(rows), np.uint32)
        lengths = self._lengths.put(rows, nothing, self._lengths.size, shared=shared)
        return Words(tuple(part.without(rows) for part in self._parts), lengths)

    def find(self, term: Sequence[str]) -> Found:
        """Find the rows that hold some words one behind the other."""
        return Found([(part.segment.rows, part.postings(term)) for part in self._parts])

    def holding(self, terms: Sequence[str]) -> Mask:
        """Tell which rows contain all of some words and phrases; none without a term."""
        result = np.zeros(len(self.lengths), bool)
        for part in self._parts if terms else ():
            docs = part.segment.holding(terms)
            docs = docs if part.current is None else docs[part.current[docs]]
            result[part.segment.rows[docs]] = True
        return result

    def held(self, terms: Sequence[Found], rows: Rows) -> Mask:
        """Tell which of some terms each of some rows, ascending, holds: shape (rows, terms)."""
        held = np.zeros((len(rows), len(terms)), bool)
        for number, part in enumerate(self._parts):
            docs, at = part.docs_of(rows)
            for column, term in enumerate(terms if len(docs) else ()):
                held[at, column] = term.postings(number).hold(docs)
        return held

    def count_all(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count in each row the places of some words, given by their codes."""
        counts = np.zeros(len(self.lengths), np.int64)
        for segment, current in self._parts if len(codes) else ():
            of_docs = segment.count_all(codes)
            if current is None:
                counts[segment.rows] = of_docs
            else:
                counts[segment.rows[current]] = of_docs[current]
        return counts

    def weigh(
        self, words: Iterable[tuple[Found, float]], compounds: Iterable[tuple[Found, float]]
    ) -> tuple[Floats, list[Repeats]]:
        """Sum the weights of the words that each row holds, and of the compounds where it holds a word as well.

        With the sums come the terms that rows hold more than once.
        """
        sums, repeats = np.zeros(len(self.lengths)), list[Repeats]()
        for found, weight in words:
            found.add_to(sums, repeats, weight)
        has_word = sums > 0 if compounds else None
        for found, weight in compounds:
            found.add_to(sums, repeats, weight, has_word)
        return sums, repeats

    def counts(self, terms: Sequence[Sequence[str]], rows: Rows) -> npt.NDArray[np.int64]:
        """Count how often the words of each term stand one behind the other, by row, in each of some rows."""
        result = np.zeros((len(terms), len(rows)), np.int64)
        for part in self._parts if terms else ():
            docs, at = part.docs_of(rows)
            if len(docs):
                result[:, at] = part.segment.counts(terms, docs)
        return result


def _with_part(parts: tuple[_Part, ...], new: _Part) -> tuple[_Part, ...]:
    # Those that are not much larger are taken in, so that there are few.
    taken = [new]
    while parts and _fits(parts[-1], taken):
        taken.append(parts[-1])
        parts = parts[:-1]
    if len(taken) == 1:
        return (*parts, new)
    return (*parts, _Part(Segment.merged([(part.segment, part.mask) for part in taken])))


def _fits(part: _Part, taken: Iterable[_Part]) -> bool:
    rows, is_wide = 0, part.segment.is_wide
    for one in taken:
        rows, is_wide = rows + len(one.segment.rows), is_wide or one.segment.is_wide
    return not is_wide and len(part.segment.rows) < _RATIO * rows and len(part.segment.rows) + rows <= SPAN
