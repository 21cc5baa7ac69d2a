"""The words of one query: what the rows of a table score by BM25, and which of the words they hold.

A word adds ln(1 + (N - n + 0.5) / (n + 0.5)) * f (k1 + 1) / (f + k1 (1 - b + b * length / mean length)): N memories, of
which n contain it, f times. This weight of a word is never negative (Lucene's, after Robertson and Zaragoza, The
Probabilistic Relevance Framework: BM25 and Beyond, 2009), so words of most memories still tell two of them apart.

A compound of the query, such as `grip_force`, counts once more if its words stand together, and as much as the rarest
of them.

A score is what it would be if each term stood once, and what terms that stand more often add to that. It is summed in
the same order for all rows and for a few alone, so both give the same number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..conditions.attributes import Collections
from ..config.parameters import Parameters
from ..table.column import Floats, Mask, Rows
from ..table.view import Chosen, View
from ..table.words import EITHER, Found
from ..text.tokens import Analysis, by_stems

_COMMON = 4.0
"""Rarity of a word that all memories hold: to be about what most memories are about is something, too."""
_FEW = 64
"""Rows that are fewer than all by this factor are scored by themselves."""
_AS_OF_MANY = 1000
"""Rarity is that of a word among at least so many memories: in the first few, hardly a word is known yet."""


class Formula(NamedTuple):
    """The constants of the formula, of which `per_word` contains the mean length."""

    k1: float
    base: float
    """k1 * (1 - b)"""
    per_word: float
    """k1 * b / (words in a memory, on average)"""

    @property
    def limit(self) -> float:
        """Return a bound on what a word of weight 1 adds, however often it stands."""
        return self.k1 + 1

    def part(self, counts: npt.ArrayLike, lengths: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Score a word of weight 1 by its counts in memories and their lengths in words."""
        times = np.asarray(counts, np.float64)
        return times * self.limit / (times + (self.base + self.per_word * np.asarray(lengths, np.float64)))


class Statistics(NamedTuple):
    """What BM25 must know of the collections that are searched, withdrawn memories included.

    A withdrawn memory tells as much of how common a word is as an active one.
    """

    memories: int
    mean_length: float
    """Words in a memory, on average."""
    frequencies: Mapping[str, int]
    """In how many memories a word of the query stands."""

    def formula(self, k1: float, b: float) -> Formula:
        """Return the constants of BM25 for these memories."""
        return Formula(k1, k1 * (1 - b), k1 * b / max(self.mean_length, 1e-9))

    def weight(self, *words: str) -> float:
        """Weigh a word, or a compound by its rarest word."""
        n = min(self.frequencies.get(word, 0) for word in words)
        return math.log1p((self.memories - n + 0.5) / (n + 0.5))

    def rarity(self, word: str) -> float:
        """Return how much a word tells of what is asked: 4 + ln((N + 1) / (n + 0.5)), also if no memory holds it."""
        return _COMMON + math.log((max(self.memories, _AS_OF_MANY) + 1) / (self.frequencies.get(word, 0) + 0.5))

    def shares(self, words: Sequence[str]) -> Mapping[str, float]:
        """Return the share that each of some words has in what they ask together."""
        rarities = [*map(self.rarity, words)]
        whole = sum(rarities)
        return {word: rarity / whole for word, rarity in zip(words, rarities, strict=True)}


class TextSearch:
    """The search by the words of one query.

    Every row that is searched is in one of `collections`, which give the words their weights; none for all.
    """

    def __init__(self, view: View, query: Analysis, parameters: Parameters, collections: Collections) -> None:
        self.query = query
        self._view, self._searched = view, collections
        self._shape = parameters.bm25_k1, parameters.bm25_b
        self._texts, self._found = view.table.words, dict[str, Found]()
        self._forms_of = dict[str, Sequence[str]]()

    @property
    def words(self) -> Sequence[str]:
        """Return the words of the query, as they are indexed."""
        return self.query.words

    @property
    def memories(self) -> int:
        """Return how many memories the collections have."""
        return self._statistics.memories

    def scores(self, chosen: Chosen) -> Floats:
        """Return the BM25 score of each chosen row, by row; 0 of one that contains no word of the query.

        The words are joined by OR; compounds such as `grip_force` or `12.5` count once more if they stand together.
        """
        if not self.words:
            return np.zeros(chosen.count)
        is_alone = _FEW * chosen.count < len(chosen.mask)
        scores: Floats = self._scores_of(chosen.rows) if is_alone else chosen.of(self._scores)
        return scores

    def held(self, rows: Rows) -> Mask:
        """Tell for some rows, ascending, which words of the query each holds: a row of the result for each."""
        return self._texts.held([self._find(word) for word in self.words], rows)

    def holding(self, terms: Sequence[str]) -> Mask:
        """Tell which rows contain all of some words and phrases; none without a term."""
        return self._texts.holding([" ".join(self._words_of(term)) for term in terms])

    def holding_any(self, words: Iterable[str]) -> Mask:
        """Tell which rows contain any of some words."""
        mask = np.zeros(len(self._view.ids), bool)
        for word in words:
            mask |= self.holding([word])
        return mask

    def share(self, words: Iterable[str]) -> float:
        """Return how much of what is asked some words of the query are, in [0, 1], by their rarity."""
        return sum(self._shares.get(word, 0.0) for word in words)

    def shares(self, held: Mask) -> Floats:
        """Return the `share` of the words that each row of a mask of words holds."""
        if not held.any():
            return np.zeros(len(held))
        shares: Floats = held @ np.array([self._shares.get(word, 0.0) for word in self.words])
        return shares

    @property
    def is_unknown(self) -> bool:
        """Tell whether no memory of the collections contains a word of what is asked."""
        return self._statistics.frequencies.keys().isdisjoint(self.query.subject)

    def weights(self) -> Mapping[str, float]:
        """Return the rarity of each form of each word of the query; 1 for each if nothing was searched by them."""
        rarity = self._statistics.rarity if "_statistics" in self.__dict__ else lambda _: 1.0
        return {form: rarity(word) for word in self.words for form in self._forms(word)}

    def max_score(self) -> float:
        """Return the score of a memory of mean length that contains each word of the query once."""
        return sum(map(self._statistics.weight, self.words))

    @cached_property
    def _scores(self) -> Floats:
        return self._scores_of(None)

    def _scores_of(self, rows: Rows | None) -> Floats:
        # Of some rows, or of all.
        statistics, formula = self._statistics, self._statistics.formula(*self._shape)
        scores, repeats = self._texts.weigh(
            [(self._find(word), statistics.weight(word)) for word in self.words],
            [(self._find(compound), statistics.weight(*compound.split())) for compound in self.query.phrases],
            rows,
        )
        lengths = self._texts.lengths
        if rows is None:
            once = self._view.once(("part", formula), lambda: formula.part(1, lengths))
        else:
            lengths = lengths[rows]
            once = formula.part(1, lengths)
        scores *= once
        for weight, at, counts in repeats:
            scores[at] += weight * (formula.part(counts, lengths[at]) - once[at])
        return scores

    def _find(self, term: str) -> Found:
        if term not in self._found:
            self._found[term] = self._texts.find(self._words_of(term))
        return self._found[term]

    def _words_of(self, term: str) -> list[str]:
        return [EITHER.join(self._forms(word)) for word in term.split()]

    def _forms(self, word: str) -> Sequence[str]:
        if word not in self._forms_of:
            self._forms_of[word] = self._in_languages(word)
        return self._forms_of[word]

    def _in_languages(self, word: str) -> Sequence[str]:
        # In the languages of the texts; where it is not known as it is, labels may have it in one of them.
        if not (languages := self._texts.languages | ({self.query.language} - {""})):
            return (word,)
        forms = self.query.forms(word, sorted(languages))
        if self._texts.find([word]).count(None):
            return forms
        return (*forms, *sorted({own for form in forms for own in self._labels(form)} - {*forms}))

    def _labels(self, form: str) -> Iterable[str]:
        language = form.partition(":")[2]
        labels = self._view.name("label").values
        return self._view.once(("labels", language), lambda: by_stems(labels, language)).get(form, ())

    @cached_property
    def _statistics(self) -> Statistics:
        memories, total, mask = self._view.once(("searched", self._searched), self._count_searched)
        words = {*self.words, *(word for compound in self.query.phrases for word in compound.split())}
        counts = {word: self._find(word).count(mask) for word in words}
        frequencies = {word: count for word, count in counts.items() if count}
        return Statistics(memories, total / max(memories, 1), frequencies)

    def _count_searched(self) -> tuple[int, int, Mask | None]:
        # Memories and words of the collections, and their mask unless they are all.
        lengths = self._texts.lengths
        mask = self._searched.mask(self._view) & self._view.table.present.all
        memories = int(np.count_nonzero(mask))
        if memories == len(lengths):
            return memories, int(lengths.sum(dtype=np.int64)), None
        return memories, int(lengths[mask].sum(dtype=np.int64)), mask

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        # The share of each word of the subject.
        return self._statistics.shares(self.query.subject)
