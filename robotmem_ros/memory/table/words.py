"""The words of all rows: which rows hold them, how often, and where, in postings that are never changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage.vector_rows import text_digest
from ..text.inflection import MARKERS
from ..text.tokens import indexed_text
from .column import Array, Floats, Mask, Numbers, Rows

SPAN = (1 << 16) - 1
"""Greatest number of rows in a segment. A row's number in it, its doc, takes the upper half of a place."""
_FREQUENT = 8
"""A word of more than one in so many rows is held as a mask, too."""
_KEPT, _WORDS = 8, 512
"""Postings of words that were asked for are kept: so many docs for each row, of so many words, at most."""

EITHER = "|"
"""What stands between the forms of a word that is looked for, any of which is it."""

Docs = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int64]
code = lru_cache(maxsize=1 << 16)(text_digest)
"""The number that stands for a word; two words of a million agree with a probability of 3 in 100 million."""
_BAR = code("|")


def words_in(texts: Iterable[str]) -> Sequence[str]:
    """Return the words of the texts of a memory, with a bar between two texts: what separates words is no word."""
    return " | ".join(map(indexed_text, texts)).split()


class Postings(NamedTuple):
    """The docs that hold a word, or words one behind the other, ascending."""

    docs: Docs
    repeats: Docs
    """Docs that hold it more than once."""
    counts: npt.NDArray[np.int64]
    """Number of its places in each doc of `repeats`."""
    mask: Mask | None = None
    """Whether each doc holds it, if many do: that is quicker to add than `docs`."""

    def add_to(self, sums: Floats, weight: float) -> None:
        """Add a weight to the sum of each doc that holds it."""
        if self.mask is None:
            sums[self.docs] += weight
        else:
            sums += weight * self.mask

    def hold(self, docs: Docs) -> Mask:
        """Tell which of some docs hold it."""
        return are_among(docs, self.docs) if self.mask is None else self.mask[docs]

    def at(self, docs: Docs) -> Postings:
        """Return those of some docs, by their positions among these."""
        is_repeated = are_among(docs, self.repeats)
        counts = self.counts[self.repeats.searchsorted(docs[is_repeated])]
        return Postings(self.hold(docs).nonzero()[0], is_repeated.nonzero()[0], counts)

    def only(self, docs: Mask) -> Postings:
        """Return those of some docs."""
        is_repeated = docs[self.repeats]
        return Postings(self.docs[docs[self.docs]], self.repeats[is_repeated], self.counts[is_repeated])


class _Kept(dict[str, Postings]):
    """Postings of words that were asked for; when they become too many, they begin anew."""

    _docs = 0

    def keep(self, word: str, postings: Postings, limit: int) -> None:
        """Keep those of a word, so many docs in all."""
        self._docs += len(postings.docs)
        if len(self) >= _WORDS or self._docs > limit:
            self.clear()
            self._docs = len(postings.docs)
        self[word] = postings


@dataclass(frozen=True, eq=False)
class Segment:
    """The postings of some rows."""

    rows: Rows
    """Ascending; a doc is a position in them."""
    codes: npt.NDArray[np.int64]
    """The words, ascending, see `code`."""
    starts: npt.NDArray[np.uint32]
    """Where in `places` those of each word begin; and their end."""
    places: Array
    """Where each word stands, ascending by word and by place: the doc, then the number of the word in the text."""
    _known: _Kept = field(default_factory=_Kept, kw_only=True)

    @classmethod
    def of(cls, rows: Rows, words: Sequence[Sequence[str]]) -> tuple[Segment, npt.NDArray[np.int64]]:
        """Make the segment of some rows, SPAN at most, of the words of each and bars; with the number of its words."""
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        codes = np.fromiter(map(code, chain.from_iterable(words)), np.int64, int(sizes.sum()))
        docs = np.repeat(np.arange(len(rows)), sizes)
        offsets = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        is_word = codes != _BAR
        docs, wide = docs[is_word], int(sizes.max(initial=0)) >= SPAN
        lengths = np.bincount(docs, minlength=len(rows))
        return cls._sorted(rows, codes[is_word], docs, offsets[is_word], wide=wide), lengths

    @classmethod
    def merged(cls, parts: Sequence[tuple[Segment, Mask]]) -> Segment:
        """Return the segment of those docs of some segments that masks tell, none of a row twice."""
        if not parts:
            return cls.of(np.empty(0, np.intp), [])[0]
        kept = np.concatenate([part.rows[mask] for part, mask in parts])
        rows = np.sort(kept)
        pieces = [part._words_of(mask, np.searchsorted(rows, part.rows)) for part, mask in parts]
        codes, docs, offsets = map(np.concatenate, zip(*pieces, strict=True))
        return cls._sorted(rows, codes, docs, offsets, wide=any(part.is_wide for part, _ in parts))

    @classmethod
    def _sorted(cls, rows: Rows, codes: Array, docs: Array, offsets: Array, *, wide: bool) -> Segment:
        places = docs.astype(np.int64) << 32 | offsets
        order = np.lexsort((places, codes))
        codes = codes[order]
        firsts = np.flatnonzero(np.concatenate((np.ones(min(len(codes), 1), bool), codes[1:] != codes[:-1])))
        if not wide:
            places = (docs.astype(np.uint32) << np.uint32(16)) | offsets.astype(np.uint32)
        return cls(rows, codes[firsts], np.append(firsts, len(codes)).astype(np.uint32), places[order])

    @property
    def is_wide(self) -> bool:
        """Tell whether a text has more words than half a place can number."""
        return self.places.dtype == np.int64

    def postings(self, words: Sequence[str]) -> Postings:
        """Return the docs in which some words stand one behind the other."""
        if len(words) > 1:
            return self._postings_at(self._starts_of(words))
        if (known := self._known.get(words[0])) is not None:
            return known
        postings = self._postings_at(self._places_of(words[0]))
        if len(postings.docs) * _FREQUENT > len(self.rows):
            mask = np.zeros(len(self.rows), bool)
            mask[postings.docs] = True
            postings = postings._replace(mask=mask)
        self._known.keep(words[0], postings, _KEPT * len(self.rows))
        return postings

    def count_all(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Count in each doc the places of some words."""
        at = np.searchsorted(self.codes, codes)
        at = at[self.codes.take(at, mode="clip") == codes] if len(self.codes) else at[:0]
        if not len(at):
            return np.zeros(len(self.rows), np.int64)
        runs = map(slice, self.starts[at].tolist(), self.starts[at + 1].tolist())
        return np.bincount(np.concatenate([self.places[run] for run in runs]) >> self._bits, minlength=len(self.rows))

    def holding(self, terms: Sequence[str]) -> Docs:
        """Return the docs that contain all of some words, and phrases with a space between two words, ascending."""
        words = sorted({word for term in terms for word in term.split()}, key=lambda word: len(self._places_of(word)))
        parts = [*([word] for word in words[1:]), *(term.split() for term in terms if " " in term)]
        first = self.postings([words[0]]).docs
        return reduce(lambda docs, term: docs[self.postings(term).hold(docs)], parts, first)

    def _words_of(self, mask: Mask, numbers: Rows) -> tuple[Array, Array, Array]:
        # The words of some docs: their codes, the new numbers of their docs, and where they stand in these.
        docs = (self.places >> self._bits).astype(np.intp)
        is_kept = mask[docs]
        low = self.places.dtype.type((1 << int(self._bits)) - 1)
        starts = self.starts.astype(np.intp)
        codes = np.repeat(self.codes, starts[1:] - starts[:-1])
        return codes[is_kept], numbers[docs[is_kept]], (self.places & low)[is_kept]

    @property
    def _bits(self) -> Any:
        return self.places.dtype.type(4 * self.places.itemsize)

    @cached_property
    def languages(self) -> Sequence[str]:
        """Return the languages that texts are told to be in, without English."""
        return [language for marker, language in MARKERS.items() if len(self._places_of(marker))]

    def _places_of(self, word: str) -> Array:
        runs = [run for form in word.split(EITHER) if len(run := self._places_of_form(form))]
        if len(runs) > 1:
            return np.sort(np.concatenate(runs))
        return runs[0] if runs else self.places[:0]

    def _places_of_form(self, form: str) -> Array:
        at = int(np.searchsorted(self.codes, code(form)))
        is_known = at < len(self.codes) and self.codes[at] == code(form)
        places: Array = self.places[self.starts[at] : self.starts[at + 1]] if is_known else self.places[:0]
        return places

    def _starts_of(self, words: Sequence[str]) -> Array:
        # From the rarest word to the others. No text is so long that a place before its first word is one of another.
        places = [self._places_of(word) for word in words]
        rarest = min(range(len(words)), key=lambda at: len(places[at]))
        starts: Array = places[rarest] - places[rarest].dtype.type(rarest)
        for at, other_places in enumerate(places):
            if at != rarest and len(starts):
                starts = starts[are_among(starts + starts.dtype.type(at), other_places)]
        return starts

    def _postings_at(self, places: Array) -> Postings:
        docs = (places >> self._bits).astype(np.intp)
        is_first = np.ones(len(docs), bool)
        np.not_equal(docs[1:], docs[:-1], out=is_first[1:])
        if is_first.all():
            return Postings(docs, docs[:0], docs[:0])
        firsts = np.flatnonzero(is_first)
        counts = np.diff(np.append(firsts, len(docs)))
        return Postings(docs[firsts], docs[firsts[counts > 1]], counts[counts > 1])


def are_among(numbers: Array, targets: Array) -> Mask:
    """Tell which of some numbers are among others, which are ascending."""
    if not len(targets):
        return np.zeros(len(numbers), bool)
    are: Mask = targets.take(targets.searchsorted(numbers), mode="clip") == numbers
    return are


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
        first, last = rows.searchsorted((own[0], own[-1] + 1)) if len(own) else (0, 0)
        docs = own.searchsorted(rows[first:last])
        is_here = own.take(docs, mode="clip") == rows[first:last]
        if self.current is not None:
            is_here &= self.current.take(docs, mode="clip")
        return docs[is_here], first + is_here.nonzero()[0]

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

    def at(self, places: Sequence[tuple[Docs, Rows]] | None) -> Found:
        """Return those of some docs of each part, with where each stands in place of its row; None for all."""
        if places is None:
            return self
        return Found([(at, found.at(docs)) for (docs, at), (_, found) in zip(places, self._parts, strict=True)])

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

    def put(self, rows: Rows, texts: Sequence[Sequence[str]], size: int, *, shared: bool) -> Words:
        """Return them with the words of some rows, as `Numbers.put` does; rows without words may be left out."""
        words = self.without(rows[: np.searchsorted(rows, self._lengths.size)], shared=shared)
        parts, lengths = words._parts, np.zeros(len(rows), np.uint32)
        for first in range(0, len(rows), SPAN):
            at = slice(first, first + SPAN)
            segment, lengths[at] = Segment.of(rows[at], texts[at])
            parts = _with_part(parts, _Part(segment))
        return Words(parts, words._lengths.put(rows, lengths, size, shared=shared))

    def put_segment(
        self, segment: Segment, rows: Rows, lengths: npt.NDArray[np.uint32], size: int, *, shared: bool
    ) -> Words:
        """Return them with the words of some rows, which are new, as `put` does; `lengths` are those of the rows."""
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

    @cached_property
    def languages(self) -> frozenset[str]:
        """Return the languages that texts are told to be in, without English."""
        return frozenset(language for part in self._parts for language in part.segment.languages)

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

    def hold_any(self, codes: Codes) -> bool:
        """Tell whether a row ever held one of some words, given by their codes."""
        return any(are_among(codes, part.segment.codes).any() for part in self._parts)

    def held(self, terms: Sequence[Found], rows: Rows) -> Mask:
        """Tell which of some terms each of some rows, ascending, holds: shape (rows, terms)."""
        held = np.zeros((len(rows), len(terms)), bool)
        for number, part in enumerate(self._parts):
            docs, at = part.docs_of(rows)
            for column, term in enumerate(terms if len(docs) else ()):
                held[at, column] = term.postings(number).hold(docs)
        return held

    def count_all(self, *words: Codes) -> Iterator[tuple[Rows, Sequence[npt.NDArray[np.int64]]]]:
        """Count in each row that was put the places of some words, for each list of these; in parts."""
        for segment, current in self._parts:
            counts = [segment.count_all(codes) for codes in words]
            if current is None:
                yield segment.rows, counts
            else:
                yield segment.rows[current], [of_docs[current] for of_docs in counts]

    def weigh(
        self, words: Sequence[tuple[Found, float]], compounds: Sequence[tuple[Found, float]], rows: Rows | None = None
    ) -> tuple[Floats, list[Repeats]]:
        """Sum the weights of the words that each row holds, and of the compounds where it holds a word as well.

        With the sums come the terms that rows hold more than once. `rows`, ascending, are those that are weighed, and
        rows are positions among them then; None weighs all.
        """
        places = None if rows is None else [part.docs_of(rows) for part in self._parts]
        sums, repeats = np.zeros(len(self.lengths) if rows is None else len(rows)), list[Repeats]()
        for found, weight in words:
            found.at(places).add_to(sums, repeats, weight)
        has_word = sums > 0 if compounds else None
        for found, weight in compounds:
            found.at(places).add_to(sums, repeats, weight, has_word)
        return sums, repeats


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
