"""Postings in RAM: where each word stands in the memories of a block, in arrays that are never changed."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...storage.text_rows import BARS
from ...storage.vector_rows import text_digest

Docs = npt.NDArray[np.intp]
Ids = npt.NDArray[np.int64]
Places = npt.NDArray[Any]
SPAN = 65_535
"""The greatest number of memories in a block. A memory's number in it, its doc, takes the upper half of a place."""
_FREQUENT = 8
"""A word of more than one in so many memories is held as a mask, too, once it was asked for."""
_MASKS = 16
_DENSE = 8
"""To look a doc up takes as long as to count so many places."""
_FORMAT = b"words  2"
_COLUMNS = {
    "ids": "<i8", "unheld": "<i8", "codes": "<i8", "starts": "<u4", "places": "<u4", "lengths": "<u2", "newest": "<u2"
}  # fmt: skip

code = lru_cache(maxsize=65_536)(text_digest)
"""The number that stands for a word in a block; two words of a million agree with a probability of 3 in 100 million."""
_BAR = code("|")


class Postings(NamedTuple):
    """The memories that hold a word, or a compound, by their docs, ascending."""

    docs: Docs
    repeats: Docs
    """Docs that hold it more than once."""
    counts: npt.NDArray[np.int64]
    """Number of its places in each doc of `repeats`."""
    mask: npt.NDArray[np.bool_] | None = None
    """Whether each doc of the block holds it, if many do: that is quicker to add than `docs`."""

    def add_to(self, sums: npt.NDArray[np.float64], weight: float) -> None:
        """Add a weight to the sum of each memory that holds it."""
        if self.mask is None:
            sums[self.docs] += weight
        else:
            sums += weight * self.mask


@dataclass(frozen=True, eq=False)
class Block:
    """The postings of the memories behind the id `low` up to `high`, in the order of their ids."""

    low: int
    high: int
    revision: int
    """The last one of which each change of a text is in the block or `outdated`; some texts may be newer."""
    ids: Ids
    unheld: Ids
    """The memories whose texts are too long for the block."""
    codes: npt.NDArray[np.int64]
    """The words, ascending, see `code`."""
    starts: npt.NDArray[np.uint32]
    """Where in `places` those of each word begin; and their end."""
    places: Places
    """Where each word stands, ascending by word and by place: the doc, then the number of the word in the text."""
    lengths: npt.NDArray[Any]
    """Number of words of each memory, by doc."""
    newest: npt.NDArray[Any]
    """The last doc with the same text and kind as each doc, see `text_rows.Texts`."""
    outdated: frozenset[int] = field(default=frozenset(), kw_only=True)
    """The memories whose texts have changed since the block was read."""
    _frequent: dict[str, Postings] = field(default_factory=dict, kw_only=True)

    @classmethod
    def unpack(cls, low: int, high: int, revision: int, data: bytes) -> Block | None:
        """Read what `pack` gave; None if it is damaged or of another format."""
        if data[:8] != _FORMAT or zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
            return None
        sizes = np.frombuffer(data, "<i8", len(_COLUMNS), len(_FORMAT))
        columns, at = [], len(_FORMAT) + sizes.nbytes
        for dtype, size in zip(_COLUMNS.values(), sizes.tolist(), strict=True):
            columns.append(np.frombuffer(data, dtype, size, at))
            at += columns[-1].nbytes
        return cls(low, high, revision, *columns)

    def pack(self) -> bytes:
        """Return all but the ids that it reaches over, `revision` and `outdated` as bytes."""
        columns = [np.ascontiguousarray(getattr(self, name), dtype) for name, dtype in _COLUMNS.items()]
        data = b"".join((_FORMAT, bytes(np.array([*map(len, columns)], "<i8")), *map(bytes, columns)))
        return data + zlib.crc32(data).to_bytes(4, "little")

    def outdated_by(self, changes: Iterable[tuple[int, int]]) -> frozenset[int]:
        """Return the memories that are outdated after changes of texts: of which memory, and in which revision."""
        return self.outdated.union(
            memory_id
            for memory_id, revision in changes
            if self.low < memory_id <= self.high and revision > self.revision
        )

    @cached_property
    def is_newest(self) -> npt.NDArray[np.bool_]:
        """Tell which docs are the last ones with their text and kind."""
        is_newest: npt.NDArray[np.bool_] = self.newest == np.arange(len(self.ids))
        return is_newest

    @cached_property
    def texts(self) -> int:
        """Count the different texts, of each kind."""
        return int(np.count_nonzero(self.is_newest))

    def copies(self, docs: Docs) -> Docs:
        """Return all docs with the text and kind of some that are the last ones with theirs, ascending."""
        is_last = np.zeros(len(self.ids), bool)
        is_last[docs] = True
        return np.flatnonzero(is_last[self.newest])

    @cached_property
    def memories(self) -> int:
        """Count the memories with a text."""
        return int(np.count_nonzero(self.lengths))

    @cached_property
    def shortest(self) -> int:
        """Return the least number of words in a memory with a text; 0 if there is none."""
        return int(self.lengths[self.lengths > 0].min()) if self.memories else 0

    @cached_property
    def longest(self) -> int:
        """Return the greatest number of words in a memory."""
        return int(self.lengths.max(initial=0))

    def docs_of(self, ids: Ids) -> Docs:
        """Return the docs of those of some sorted ids that the block has."""
        first, last = np.searchsorted(ids, (self.low, self.high), side="right").tolist()
        inside = ids[first:last]
        if len(self.ids) == self.high - self.low:  # nothing between is gone: no need to look
            return inside - (self.low + 1)
        docs = np.searchsorted(self.ids, inside)
        return docs[_are_among(inside, self.ids)]

    def postings(self, word: str) -> Postings:
        """Return the memories that hold a word."""
        if word in self._frequent:
            return self._frequent[word]
        places = self._places_of(word)
        word_postings = self._postings_at(places)
        if len(places) * _FREQUENT > len(self.ids):
            mask = np.zeros(len(self.ids), bool)
            mask[word_postings.docs] = True
            word_postings = word_postings._replace(mask=mask)
            if len(self._frequent) >= _MASKS:
                self._frequent.clear()
            self._frequent[word] = word_postings
        return word_postings

    def together(self, words: Sequence[str]) -> Postings:
        """Return the memories in which some words stand one behind the other."""
        return self._postings_at(self._starts_of(words))

    def counts(self, terms: Sequence[Sequence[str]], docs: Docs) -> npt.NDArray[np.int64]:
        """Count how often the words of each term stand one behind the other, by row, in each of some docs."""
        bounds = np.left_shift((docs, docs + 1), self._bits).astype(self.places.dtype)
        numbers = np.empty((len(terms), len(docs)), np.int64)
        for row, words in zip(numbers, terms, strict=True):
            places = self._places_of(words[0]) if len(words) == 1 else self._starts_of(words)
            if len(places) < _DENSE * len(docs):
                row[:] = np.bincount(places >> self._bits, minlength=len(self.ids))[docs]
            else:
                first, end = places.searchsorted(bounds)
                np.subtract(end, first, out=row)
        return numbers

    def holding(self, terms: Sequence[str]) -> Docs:
        """Return the docs that contain all of some words, and phrases with a space between two words, ascending."""
        words = sorted({word for term in terms for word in term.split()}, key=lambda word: len(self._places_of(word)))
        parts = [*([word] for word in words[1:]), *(term.split() for term in terms if " " in term)]
        return reduce(lambda docs, term: docs[self.counts([term], docs)[0] > 0], parts, self.postings(words[0]).docs)

    @property
    def _bits(self) -> int:
        return 4 * self.places.itemsize

    def _places_of(self, word: str) -> Places:
        at = int(np.searchsorted(self.codes, code(word)))
        is_known = at < len(self.codes) and self.codes[at] == code(word)
        word_places: Places = self.places[self.starts[at] : self.starts[at + 1]] if is_known else self.places[:0]
        return word_places

    def _starts_of(self, words: Sequence[str]) -> Places:
        # From the rarest word to the others. No text is so long that a place before its first word is one of another.
        places = [self._places_of(word) for word in words]
        rarest = min(range(len(words)), key=lambda at: len(places[at]))
        starts: Places = places[rarest] - places[rarest].dtype.type(rarest)
        for at, other_places in enumerate(places):
            if at != rarest and len(starts):
                next_one = starts + starts.dtype.type(at)
                starts = starts[_are_among(next_one, other_places)]
        return starts

    def _postings_at(self, places: Places) -> Postings:
        docs = (places >> self._bits).astype(np.intp)
        is_first = np.ones(len(docs), bool)
        np.not_equal(docs[1:], docs[:-1], out=is_first[1:])
        if is_first.all():
            return Postings(docs, docs[:0], docs[:0])
        firsts = np.flatnonzero(is_first)
        counts = np.diff(np.append(firsts, len(docs)))
        return Postings(docs[firsts], docs[firsts[counts > 1]], counts[counts > 1])


def _are_among(places: Places, targets: Places) -> npt.NDArray[np.bool_]:
    if not len(targets):
        return np.zeros(len(places), bool)
    are_among: npt.NDArray[np.bool_] = targets.take(np.searchsorted(targets, places), mode="clip") == places
    return are_among


class BlockBuilder:
    """Build the block of the memories behind the id `low` up to `high`, whose texts come in pieces.

    With `words`, it holds no others. A block for a while may be `wide`: then no text is too long for it.
    """

    def __init__(
        self, low: int, high: int, revision: int, *, words: Sequence[str] | None = None, wide: bool = False
    ) -> None:
        self.high = high
        self.last = low
        """The last memory that was added."""
        self._range = low, high, revision
        self._codes = None if words is None else np.array([code(word) for word in words], np.int64)
        self._place, self._length = (np.int64, np.int64) if wide else (np.uint32, np.uint16)
        self._bits = 32 if wide else 16
        self._pieces: list[tuple[npt.NDArray[np.int64], ...]] = []
        self._count = 0
        self._numbers: dict[tuple[str, Hashable], int] = {}

    def add(self, ids: Sequence[int], texts: Sequence[str], kinds: Sequence[Hashable] | None = None) -> None:
        """Take in the next memories, ascending by id; in a text a space stands between two words.

        Without `kinds` each has its own.
        """
        words = [text.split() for text in texts]
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        codes = np.fromiter(map(code, chain.from_iterable(words)), np.int64, int(sizes.sum()))
        docs = np.repeat(np.arange(self._count, self._count + len(ids)), sizes)
        offsets = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        is_held = sizes < 1 << self._bits
        is_chosen = np.repeat(is_held, sizes) & (codes != _BAR if self._codes is None else np.isin(codes, self._codes))
        lengths = np.where(is_held, sizes - BARS, 0)
        numbers = np.array(ids, np.int64)
        same = [self._numbers.setdefault(key, len(self._numbers)) for key in zip(texts, kinds or ids, strict=True)]
        self._pieces.append((
            numbers, lengths, numbers[~is_held], codes[is_chosen], (docs << self._bits | offsets)[is_chosen],
            np.array(same, np.int64),
        ))  # fmt: skip
        self._count += len(ids)
        self.last = ids[-1] if ids else self.last

    def block(self) -> Block:
        """Return the block of all that was added."""
        empty = (np.empty(0, np.int64),) * 6
        ids, lengths, unheld, codes, places, same = map(np.concatenate, zip(*(self._pieces or [empty]), strict=True))
        newest = np.zeros(len(self._numbers), self._length)
        np.maximum.at(newest, same, np.arange(len(ids), dtype=self._length))
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        firsts = np.flatnonzero(np.concatenate((np.ones(min(len(codes), 1), bool), codes[1:] != codes[:-1])))
        starts = np.append(firsts, len(codes)).astype(np.uint32)
        columns = places[order].astype(self._place), lengths.astype(self._length)
        return Block(*self._range, ids, unheld, codes[firsts], starts, *columns, newest[same])
