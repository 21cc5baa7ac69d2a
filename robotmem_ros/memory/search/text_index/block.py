"""Keep the postings of a range of ids: for each word, the memories that contain it, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SPAN = 65_536
"""The greatest number of memories in a block, so that a memory's number in it, its doc, takes 16 bits."""
REACH = 2**32 - 1
"""The last id of a block is greater by at most so much than the one that it begins behind."""
_MOST = 65_535


class Postings(NamedTuple):
    """The memories that hold a word by their docs (numbers within the block), ascending."""

    docs: npt.NDArray[np.uint16]
    repeated: npt.NDArray[np.uint16]
    """Those of the docs that hold it more than once."""
    counts: npt.NDArray[np.uint16]
    """How often the word stands at each doc of `repeated`; 65,535 at most."""


@dataclass(frozen=True, eq=False)
class Block:
    """The postings of the memories behind the id `low` up to `high`, in the order of their ids. Never changed.

    A word stands as its hash, which is the same within a process: a query that meets another word of the same
    hash reads some memories that do not match.
    """

    low: int
    high: int
    changes: int
    """The number of the last change of a text before the block was read; some texts may be newer."""
    offsets: npt.NDArray[np.uint32]
    """By how much the id of each memory is greater than `low`: what was deleted long ago takes no space."""
    words: npt.NDArray[np.int64]
    """Ascending; behind them the greatest number there is, which stands for no word."""
    starts: npt.NDArray[np.uint32]
    docs: npt.NDArray[np.uint16]
    repeats: npt.NDArray[np.uint32]
    """Where in `docs` a word stands more than once, ascending."""
    counts: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.uint16]
    """How many words each memory has, by doc; 65,535 at most."""

    @cached_property
    def shortest(self) -> int:
        """Return the least number of words in a memory with a text; 0 if there is none."""
        return int(self.lengths[self.lengths > 0].min(initial=_MOST)) if self.memories else 0

    @cached_property
    def memories(self) -> int:
        """Count the memories with a text."""
        return int(np.count_nonzero(self.lengths))

    def ids(self, docs: npt.NDArray[np.uint16] | npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Return the ids of some docs."""
        return self.low + self.offsets[docs].astype(np.int64)

    def docs_of(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Return the docs of those of some sorted ids that the block covers."""
        first, last = np.searchsorted(ids, (self.low, self.high), side="right").tolist()
        wanted = (ids[first : last if len(self.offsets) else first] - self.low).astype(np.uint32)
        if len(self.offsets) == self.high - self.low:  # nothing between is gone: no need to look
            return wanted.astype(np.intp) - 1
        docs = np.searchsorted(self.offsets, wanted)
        is_here: npt.NDArray[np.bool_] = self.offsets.take(docs, mode="clip") == wanted
        return docs[is_here]

    def postings(self, words: Sequence[str]) -> list[Postings]:
        """Return the postings of each of some words."""
        codes = np.fromiter(map(hash, words), np.int64, len(words))
        indexes = np.searchsorted(self.words, codes)
        known = (self.words[indexes] == codes).astype(np.uint32)
        starts, ends = self.starts[indexes] * known, self.starts[indexes + 1] * known
        firsts, lasts = np.searchsorted(self.repeats, starts), np.searchsorted(self.repeats, ends)
        bounds = (one.tolist() for one in (starts, ends, firsts, lasts))
        return [
            Postings(self.docs[start:end], self.docs[self.repeats[first:last]], self.counts[first:last])
            for start, end, first, last in zip(*bounds, strict=True)
        ]

    def holding(self, words: Sequence[str]) -> npt.NDArray[np.uint16]:
        """Return the docs that contain all of some words, ascending."""
        rarest, *others = sorted((one.docs for one in self.postings(words)), key=len)
        for other in others:
            held = np.zeros(len(self.lengths), bool)
            held[other] = True
            rarest = rarest[held[rarest]]
        return rarest


class BlockBuilder:
    """Build the block of the memories behind the id `low` up to `high`, whose texts come in pieces."""

    def __init__(self, low: int, high: int, changes: int) -> None:
        self._range = low, high, changes
        self._offsets, self._lengths = [np.empty(0, np.uint32)], [np.empty(0, np.uint16)]
        self._codes, self._docs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        self._count = 0

    def add(self, ids: Sequence[int], texts: Sequence[str]) -> None:
        """Take in the next memories, ascending by id; in a text a space stands between two words."""
        words = [text.split() for text in texts]
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        self._offsets.append((np.array(ids, np.int64) - self._range[0]).astype(np.uint32))
        self._lengths.append(np.minimum(sizes, _MOST).astype(np.uint16))
        self._codes.append(np.fromiter(map(hash, chain.from_iterable(words)), np.int64, int(sizes.sum())))
        self._docs.append(np.repeat(np.arange(self._count, self._count + len(ids)), sizes))
        self._count += len(ids)

    def block(self) -> Block:
        """Return the block of all that was added."""
        words, numbers = np.unique(np.concatenate(self._codes), return_inverse=True)
        words = np.append(words, np.iinfo(np.int64).max)
        keys, counts = np.unique(numbers * SPAN + np.concatenate(self._docs), return_counts=True)
        repeats = np.flatnonzero(counts > 1)
        return Block(
            *self._range,
            np.concatenate(self._offsets),
            words,
            np.searchsorted(keys, np.arange(len(words) + 1) * SPAN).astype(np.uint32),
            (keys % SPAN).astype(np.uint16),
            repeats.astype(np.uint32),
            np.minimum(counts[repeats], _MOST).astype(np.uint16),
            np.concatenate(self._lengths),
        )
