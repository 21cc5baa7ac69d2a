"""Find the memories that match the words of a query best, by the postings and BM25."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .block import Block
from .bm25 import Formula

Floats = npt.NDArray[np.float64]
Docs = npt.NDArray[np.intp]


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
