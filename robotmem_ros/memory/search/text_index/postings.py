"""Postings in RAM: for each word the memories that contain it and how often, and by them the best for a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .bm25 import Formula

Floats = npt.NDArray[np.float64]
Docs = npt.NDArray[np.intp]
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


class Best(NamedTuple):
    """A choice of memories, and what can be said of all others."""

    ids: list[int]
    bound: float
    """None of the others has a higher score."""
    oldest: int
    """Those of the others that have just this score have lower ids."""


@dataclass(frozen=True)
class Scores:
    """The words of a query and its compounds, with their weights.

    A compound counts if the memory contains all of its words, with the greatest count. So no memory has a higher score
    than here, and `best` misses none.
    """

    blocks: Sequence[Block]
    words: Mapping[str, float]
    compounds: Mapping[str, float]
    formula: Formula

    def best(self, wanted: int, superset: npt.NDArray[np.int64] | None = None) -> Best:
        """Find the best memories, of equally good ones the newest.

        If there are less than `wanted`, they are all that contain a word, and the bound is 0. No memory outside of the
        sorted ids `superset` is given.
        """
        ids, scores, bound = np.empty(0, np.int64), np.empty(0, np.float64), 0.0
        for block in reversed(self.blocks):
            docs, found = self._better(block, bound, None if superset is None else block.docs_of(superset))
            ids, scores = np.concatenate((ids, block.ids(docs[::-1]))), np.concatenate((scores, found[::-1]))
            if len(ids) >= wanted:
                ids, scores = _first(ids, scores, wanted)
                bound = float(scores.min())
        oldest = int(ids[scores == bound].min()) if bound else 0
        return Best(ids.tolist(), bound, oldest)

    def _better(self, block: Block, bound: float, inside: Docs | None) -> tuple[Docs, Floats]:
        # The memories of a block with a score above the bound, ascending.
        held = _Held(self, block)
        docs = np.flatnonzero(held.at_most > bound) if inside is None else inside[held.at_most[inside] > bound]
        scores = held.scores(docs)
        better = np.flatnonzero(scores > bound)
        return docs[better], scores[better]


class _Held:
    """The words of a query in the memories of a block.

    `at_most` is the score that each would have if it were as short as the shortest one. It costs little, as nearly
    always a word stands once in a memory, and tells of most memories that they are not among the best.
    """

    def __init__(self, query: Scores, block: Block) -> None:
        self._formula = query.formula
        self._lengths = block.lengths
        self._found = list(zip(block.postings(list(query.words)), query.words.values(), strict=True))
        self._compounds = [
            (block.holding(compound.split()), weight * query.formula.most)
            for compound, weight in query.compounds.items()
        ]
        self._once = float(self._formula.part(1, block.shortest))
        self._more = [
            weight * (self._formula.part(one.counts, block.shortest) - self._once) for one, weight in self._found
        ]
        docs = [one.docs for one, _ in self._found] + [one.repeated for one, _ in self._found]
        once = np.repeat([weight * self._once for _, weight in self._found], [len(one.docs) for one, _ in self._found])
        self.at_most: Floats = np.bincount(
            np.concatenate(docs).astype(np.intp), np.concatenate((once, *self._more)), len(block.lengths)
        ).astype(np.float64, copy=False)
        for holding, most in self._compounds:
            self.at_most[holding] += most

    def scores(self, docs: Docs) -> Floats:
        """Score some docs, which ascend."""
        if not len(docs):
            return np.empty(0, np.float64)
        lengths = self._lengths[docs]
        once = self._formula.part(1, lengths)
        as_once, more = self.at_most[docs], np.zeros(len(docs))
        is_wanted = np.zeros(len(self._lengths), bool)
        is_wanted[docs] = True
        for (one, weight), counted in zip(self._found, self._more, strict=True):
            chosen = np.flatnonzero(is_wanted[one.repeated])
            at = np.searchsorted(docs, one.repeated[chosen])
            as_once[at] -= counted[chosen]
            more[at] += weight * (self._formula.part(one.counts[chosen], lengths[at]) - once[at])
        for holding, most in self._compounds:
            at = np.searchsorted(docs, holding[is_wanted[holding]])
            as_once[at] -= most
            more[at] += most
        return as_once * (once / self._once) + more


def _first(ids: npt.NDArray[np.int64], scores: Floats, wanted: int) -> tuple[npt.NDArray[np.int64], Floats]:
    # The `wanted` best; of those that tie the first ones.
    if len(ids) <= wanted:
        return ids, scores
    least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    better, ties = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    chosen = np.sort(np.concatenate((better, ties[: wanted - len(better)])))
    return ids[chosen], scores[chosen]
