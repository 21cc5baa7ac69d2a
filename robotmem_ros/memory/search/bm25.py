"""BM25: how well the words of a memory match the words of a query.

A word adds ln(1 + (N - n + 0.5) / (n + 0.5)) * f (k1 + 1) / (f + k1 (1 - b + b * length / mean length)): N memories, of
which n contain it, f times. This weight of a word is never negative (Lucene's, after Robertson and Zaragoza, The
Probabilistic Relevance Framework: BM25 and Beyond, 2009), so words of most memories still tell two of them apart.

A compound of the query, such as `grip_force`, counts once more if its words stand together, and
as much as the rarest of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_COMMON = 4.0
"""Rarity of a word that all memories hold: to be about what most memories are about is something, too."""
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
        whole = sum(map(self.rarity, words))
        return {word: self.rarity(word) / whole for word in words}
