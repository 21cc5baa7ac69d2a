"""The best memories for the words of a query, exactly, from the postings of their blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .bm25 import Formula
from .postings import Block, Docs, Ids, Postings

Floats = npt.NDArray[np.float64]
_ROUNDED_DOWN = 1 - 1e-9
_MAXIMA = 128
"""Memories in each part of a block; the greatest sum of every part is looked at."""


class Counted(Protocol):
    """Texts by their numbers, and how often terms stand in them."""

    @property
    def lengths(self) -> npt.NDArray[np.integer]:
        """Return the number of words of each."""

    def counts(self, terms: Sequence[Sequence[str]], docs: Docs) -> npt.NDArray[np.int64]:
        """Count how often the words of each term stand one behind the other, by row, in each of some."""


class WeightedTerms(NamedTuple):
    """The words of a query and its compounds, with their weights; a compound counts where a word stands as well.

    A score is what it would be if each term stood once, and what terms that stand more often add to that. It is
    computed in the same order from all postings of a block and for some memories alone, so both give the same number.
    """

    words: Mapping[str, float]
    compounds: Mapping[str, float]
    formula: Formula

    def best(self, blocks: Sequence[Block], n: int, *, one_per_text: bool = False) -> tuple[Ids, Floats]:
        """Find the best `n` memories that contain a word, best first, of equals the newest: ids and scores.

        With `one_per_text` the last ones with their text and kind in a block alone.
        """
        ids, scores, bound = np.empty(0, np.int64), np.empty(0, np.float64), 0.0
        # Of equal scores the newest counts, so a memory in an older block must be better than the bound.
        for block in reversed(blocks):
            docs, better = self._better(block, bound, n, one_per_text=one_per_text)
            ids, scores = np.concatenate((ids, block.ids[docs])), np.concatenate((scores, better))
            if len(ids) >= n:
                ids, scores = _best(ids, scores, n)
                bound = float(scores.min())
        order = np.lexsort((-ids, -scores))
        return ids[order], scores[order]

    def measure(self, block: Counted, docs: Docs) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Score some docs of a block, and tell for each word which of them hold it."""
        counts = block.counts([[word] for word in self.words] + [compound.split() for compound in self.compounds], docs)
        holds = counts[: len(self.words)] > 0
        sums = np.zeros(len(docs))
        for weight, holds_word in zip(self.words.values(), holds, strict=True):
            sums += weight * holds_word
        counts[len(self.words) :] *= sums > 0
        for weight, of_compound in zip(self.compounds.values(), counts[len(self.words) :], strict=True):
            sums += weight * (of_compound > 0)
        weights = [*self.words.values(), *self.compounds.values()]
        terms, at = np.nonzero(counts > 1)
        repeats = ((weights[term], at[terms == term], counts[term, at[terms == term]]) for term in dict.fromkeys(terms))
        return self._scores(sums, block.lengths[docs], repeats), holds

    def _better(self, block: Block, bound: float, n: int, *, one_per_text: bool) -> tuple[Docs, Floats]:
        # The memories of a block with a score above the bound; only the best `n` need be among them.
        sums, summed = self._summed(block)
        if one_per_text:
            sums *= block.is_newest
        single_part = float(self.formula.part(1, block.shortest))
        repeats = [(weight, postings) for weight, postings in summed if len(postings.repeats)]
        if not bound and len(sums) >= _MAXIMA * n:
            # The least that the n-th best can score: as many parts have a memory with such a sum.
            maxima = np.sort(sums[: len(sums) - len(sums) % _MAXIMA].reshape(_MAXIMA, -1).max(axis=0))
            bound = float(maxima[-n] * self.formula.part(1, block.longest)) * _ROUNDED_DOWN
        # A bound on each score: that in the shortest memory, or the limit if a term stands there more than once.
        may_be_better = sums * single_part > bound
        for _, postings in repeats:
            may_be_better[postings.repeats] |= sums[postings.repeats] * self.formula.limit > bound * _ROUNDED_DOWN
        docs = np.flatnonzero(may_be_better)
        scores = self._scores(sums[docs], block.lengths[docs], _among(docs, repeats))
        is_better = scores > bound
        return docs[is_better], scores[is_better]

    def _summed(self, block: Block) -> tuple[Floats, list[tuple[float, Postings]]]:
        # The weights of the terms that each memory holds, and the postings of all terms.
        sums = np.zeros(len(block.ids))
        summed = [(weight, block.postings(word)) for word, weight in self.words.items()]
        for weight, postings in summed:
            postings.add_to(sums, weight)
        if self.compounds:
            has_word = sums > 0
            for compound, weight in self.compounds.items():
                postings = block.together(compound.split())
                is_in = has_word[postings.repeats]
                postings = Postings(
                    postings.docs[has_word[postings.docs]], postings.repeats[is_in], postings.counts[is_in]
                )
                postings.add_to(sums, weight)
                summed.append((weight, postings))
        return sums, summed

    def _scores(
        self,
        sums: Floats,
        lengths: npt.NDArray[np.integer],
        repeats: Iterable[tuple[float, Docs, npt.NDArray[np.int64]]],
    ) -> Floats:
        single_part = self.formula.part(1, lengths)
        scores = sums * single_part
        for weight, at, counts in repeats:
            scores[at] += weight * (self.formula.part(counts, lengths[at]) - single_part[at])
        return scores


def _among(
    docs: Docs, repeats: Iterable[tuple[float, Postings]]
) -> Iterable[tuple[float, Docs, npt.NDArray[np.int64]]]:
    # Where in `docs` terms stand more than once.
    for weight, postings in repeats:
        at = np.searchsorted(docs, postings.repeats)
        is_there = docs.take(at, mode="clip") == postings.repeats if len(docs) else np.zeros(len(at), bool)
        yield weight, at[is_there], postings.counts[is_there]


def _best(ids: Ids, scores: Floats, n: int) -> tuple[Ids, Floats]:
    # Of ties the newest. The scores may be very many, and sorting them takes a tenth of finding their order.
    threshold = np.sort(scores)[-n]
    better, ties = np.flatnonzero(scores > threshold), np.flatnonzero(scores == threshold)
    newest = np.argsort(-ids[ties])[: n - len(better)] if len(ties) > n - len(better) else np.arange(len(ties))
    best = np.concatenate((better, ties[newest]))
    return ids[best], scores[best]
