"""Search the texts for one query: by the postings, and by FTS5 for what they do not cover."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...config.parameters import Parameters
from ...storage import rows, text_rows
from ...storage.candidates import Candidates
from ...storage.overview import overview
from ...storage.snapshot import Snapshot
from ...text import tokens
from ...text.analysis import Analysis
from ..measures import Measures
from . import bm25, fts
from .bm25 import Statistics
from .postings import Block, BlockBuilder, Ids
from .scores import Floats, WeightedTerms

_SHORT_TAIL = 400
"""Memories behind the postings that are all ranked: that takes less than to ask which of them hold a word."""
_SURPLUS, _GROWTH = 16, 8
"""By how many more than are wanted a search by the postings begins, and how it goes on if these are not enough."""


class TextReader:
    """Search the texts for one query, on one snapshot of the database.

    Every candidate is in one of `collections`, which give the words their weights; none for all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        blocks: Sequence[Block],
        query: Analysis,
        parameters: Parameters,
        collections: Sequence[str],
    ) -> None:
        self._snapshot = snapshot
        self._blocks = blocks
        self._collections = collections
        self._query = query
        self._limit = parameters.text_candidates
        self._shape = parameters.bm25_k1, parameters.bm25_b
        self._cached_statistics: Statistics | None = None
        self._wordless = np.empty(0, np.int64)
        self._with_all: dict[tuple[str, ...], Ids] = {}

    def search(self, candidates: Candidates, depth: int) -> Measures:
        """Find the best `depth` candidates that contain a word of the query, by BM25.

        The words are joined by OR; compounds such as `grip_force` or `12.5` count once more if they stand together.
        Which words a memory contains is not always measured: see `rank`.
        """
        if not self._query.words or depth < 1:
            return Measures.of(())
        if candidates.ids is not None:
            ids = candidates.ids
            if candidates.one_per_text and not candidates.untested:
                ids = self._one_per_text(ids[candidates.passing(ids)])
            ranked = self.rank(ids)
            return ranked.rows(candidates.first(self._snapshot, ranked.ids, depth))
        outdated_ids = candidates.filter(self._snapshot, self._outdated_ids)
        best = self.rank({*self._behind(candidates), *outdated_ids}, depth)
        return self._with_best(candidates, best, depth) if self._blocks else best

    def rank(self, ids: Collection[int] | Ids, depth: int | None = None) -> Measures:
        """Rank those of some memories that contain a word of the query, best first: the best `depth`, or all."""
        if not self._query.words or not len(ids):
            return Measures.of(())
        ids = ids if isinstance(ids, np.ndarray) else np.sort(np.fromiter(ids, np.int64))
        if len(self._wordless):
            ids = ids[~np.isin(ids, self._wordless)]
        if not len(ids):
            return Measures.of(())
        ids, scores, words = self._measure(ids)
        self._wordless = np.concatenate((self._wordless, ids[scores == 0]))
        best = _best_first(ids, scores, depth)
        best = best[scores[best] > 0]
        return Measures.of(ids[best], bm25=scores[best], words=words[:, best].T)

    def share(self, words: Sequence[str]) -> float:
        """Return how much of what is asked some words of the query are, in [0, 1], by their rarity."""
        return sum(self._shares.get(word, 0.0) for word in words)

    @property
    def words(self) -> Sequence[str]:
        """Return the words of the query, as they are indexed."""
        return self._query.words

    def shares(self, words: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return the `share` of the words in each row."""
        if not words.any():
            return np.zeros(len(words))
        word_shares: npt.NDArray[np.float64] = words @ np.array(
            [self._shares.get(word, 0.0) for word in self._query.words]
        )
        return word_shares

    @property
    def copies(self) -> float:
        """Return how many memories have the same text, on average, as far as the postings tell."""
        texts = sum(block.texts for block in self._blocks)
        return sum(len(block.ids) for block in self._blocks) / texts if texts else 1.0

    @property
    def is_unknown(self) -> bool:
        """Tell whether no memory of the collections contains a word of what is asked."""
        return self._statistics().frequencies.keys().isdisjoint(self._query.subject)

    def weights(self) -> Mapping[str, float]:
        """Return the rarity of each word of the query; 1 for each if nothing was searched by them."""
        return self._rarities if self._cached_statistics else dict.fromkeys(self._query.words, 1.0)

    def max_score(self) -> float:
        """Return the score, positive, of a memory of mean length that contains each word of the query once."""
        return sum(map(self._statistics().weight, self._query.words))

    def with_all(self, terms: Sequence[str]) -> Ids:
        """Find all memories that contain all of some words and phrases, ascending by id; none without a term."""
        key, nothing = tuple(terms), np.empty(0, np.int64)
        if not key:
            return nothing
        if key not in self._with_all:
            parts = [nothing, *(block.ids[block.holding(terms)] for block in self._blocks)]
            last = self._blocks[-1].high if self._blocks else 0
            if overview(self._snapshot).last_memory > last:
                parts.append(text_rows.with_all(self._snapshot, terms, last))
            texts = text_rows.texts_of(self._snapshot, self._outdated_ids) if self._outdated_ids else {}
            hits = [memory_id for memory_id, text in texts.items() if tokens.holds_all(terms, text)]
            self._with_all[key] = np.union1d(np.setdiff1d(np.concatenate(parts), self._outdated_ids), hits)
        return self._with_all[key]

    def _statistics(self) -> Statistics:
        if self._cached_statistics is None:
            self._cached_statistics = bm25.read_statistics(self._snapshot, self._with_compounds, self._collections)
        return self._cached_statistics

    @property
    def _with_compounds(self) -> set[str]:
        # The words of the query, and those of its compounds.
        return {*self._query.words, *(word for compound in self._query.phrases for word in compound.split())}

    @cached_property
    def _rarities(self) -> Mapping[str, float]:
        return {word: self._statistics().rarity(word) for word in self._query.words}

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        # The share of each word of the subject.
        return self._statistics().shares(self._query.subject)

    @cached_property
    def _weighted(self) -> WeightedTerms:
        statistics = self._statistics()
        return WeightedTerms(
            {word: statistics.weight(word) for word in self._query.words},
            {compound: statistics.weight(*compound.split()) for compound in self._query.phrases},
            statistics.formula(*self._shape),
        )

    @cached_property
    def _outdated_ids(self) -> list[int]:
        return outdated(self._snapshot, self._blocks)

    def _behind(self, candidates: Candidates) -> set[int]:
        # Those of the candidates that the postings do not cover, or a choice of them.
        last = self._blocks[-1].high if self._blocks else 0
        if self._blocks:
            if overview(self._snapshot).last_memory <= last:
                return set()
            tail = rows.behind(self._snapshot, last, _SHORT_TAIL + 1)
            if len(tail) <= _SHORT_TAIL:
                return {*candidates.filter(self._snapshot, tail)}
        counts = self._statistics().frequencies
        frequencies = {word: counts[word] for word in self._query.words if word in counts}
        return fts.choice(self._snapshot, frequencies, candidates, limit=self._limit, behind=last)

    def _with_best(self, candidates: Candidates, rest: Measures, depth: int) -> Measures:
        # The best of the memories in the blocks, and of some beside them.
        n, start, ids, scores = int(depth / candidates.share(self._snapshot)) + _SURPLUS, 0, rest.ids, rest.bm25
        while True:
            block_ids, block_scores = self._weighted.best(self._blocks, n, one_per_text=candidates.one_per_text)
            new_ids, new_scores = self._candidates_of(block_ids[start:], block_scores[start:], candidates)
            ids, scores = np.concatenate((ids, new_ids)), np.concatenate((scores, new_scores))
            best = _best_first(ids, scores, depth)
            ids, scores = ids[best], scores[best]
            if len(block_ids) < n or (len(ids) == depth and (scores[-1], ids[-1]) >= (block_scores[-1], block_ids[-1])):
                return Measures.of(ids, bm25=scores)
            n, start = n * _GROWTH, n

    def _candidates_of(self, ids: Ids, scores: Floats, candidates: Candidates) -> tuple[Ids, Floats]:
        # Those of some memories in the blocks that are candidates; with one per text, the newest of each that is one.
        is_candidate = np.isin(ids, self._filter(candidates, ids))
        if not candidates.one_per_text or is_candidate.all():
            return ids[is_candidate], scores[is_candidate]
        others, copies, copied_ids = np.sort(ids[~is_candidate]), [ids[is_candidate]], [ids[is_candidate]]
        for block in self._blocks:
            docs = block.copies(block.docs_of(others))
            docs = docs[np.isin(block.ids[docs], self._filter(candidates, block.ids[docs]))][::-1]
            texts, first = np.unique(block.newest[docs], return_index=True)
            copied_ids, copies = [*copied_ids, block.ids[texts]], [*copies, block.ids[docs[first]]]
        order = np.argsort(ids)
        at = order[np.searchsorted(ids, np.concatenate(copied_ids), sorter=order)]
        return np.concatenate(copies), scores[at]

    def _filter(self, candidates: Candidates, ids: Ids) -> list[int]:
        return candidates.filter(self._snapshot, {*ids.tolist()}.difference(self._outdated_ids))

    def _one_per_text(self, ids: Ids) -> Ids:
        # The newest of each text among some sorted memories, and those that no block holds.
        if not self._blocks:
            return ids
        newest, covered = [], []
        for block in self._blocks:
            docs = block.docs_of(ids)[::-1]
            covered.append(block.ids[docs])
            newest.append(block.ids[docs[np.unique(block.newest[docs], return_index=True)[1]]])
        rest = np.setdiff1d(ids, np.concatenate(covered), assume_unique=True)
        return np.sort(np.concatenate((rest, *newest)))

    def _measure(self, ids: Ids) -> tuple[Ids, Floats, npt.NDArray[np.bool_]]:
        # The ids of the memories with a text, their scores, and for each word, by row, which of them hold it.
        current = np.setdiff1d(ids, self._outdated_ids) if self._outdated_ids else ids
        parts = [(block, docs) for block in self._blocks if len(docs := block.docs_of(current))]
        if sum(len(docs) for _, docs in parts) < len(ids):
            covered_ids = [block.ids[docs] for block, docs in parts]
            block = self._read(np.setdiff1d(ids, np.concatenate(covered_ids)) if covered_ids else ids)
            parts.append((block, np.arange(len(block.ids))))
        measured = [(block.ids[docs], *self._weighted.measure(block, docs)) for block, docs in parts]
        if len(measured) == 1:
            return measured[0]
        covered, scores, words = zip(*measured, strict=True)
        return np.concatenate(covered), np.concatenate(scores), np.hstack(words)

    def _read(self, ids: Ids) -> Block:
        texts = text_rows.texts_of(self._snapshot, ids.tolist())
        builder = BlockBuilder(0, max(texts, default=0), 0, words=[*self._with_compounds], wide=True)
        builder.add([*texts], [*texts.values()])
        return builder.block()


def outdated(snapshot: Snapshot, blocks: Sequence[Block]) -> list[int]:
    """Find the memories whose texts have changed since their blocks were made, or do not fit into them."""
    if not blocks:
        return []
    changes = text_rows.text_changes(snapshot, min(block.revision for block in blocks))
    return [*{memory_id for block in blocks for memory_id in (*block.unheld.tolist(), *block.outdated_by(changes))}]


def _best_first(ids: Ids, scores: Floats, depth: int | None) -> npt.NDArray[np.intp]:
    return np.lexsort((-ids, -scores))[:depth]
