"""Greedy clustering with complete linkage over sets of words, without comparing all pairs.

A set joins the first cluster whose members are all more similar to it than the threshold, by Jaccard similarity; else
it begins one. To be similar to all it must be similar to the first, so only the first of each cluster is indexed, and
of its words only the rarest: two sets with a Jaccard similarity above t share one of their |x| - floor(t |x|) rarest
words (prefix filtering; Chaudhuri, Ganti, Kaushik: A primitive operator for similarity joins in data cleaning, 2006).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain

Words = frozenset[str]


def jaccard(one: Words, other: Words) -> float:
    """Common words by all words; 0 where there is none."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def clusters(texts: Sequence[Words], threshold: float) -> list[list[int]]:
    """The indices of the texts in their clusters, in order; the first of each cluster comes first in the sequence.

    `threshold` lies in [0, 1); texts without words stay alone.
    """
    counts = Counter(chain.from_iterable(texts))
    found: list[_Cluster] = []
    of_same_words: dict[Words, _Cluster] = {}
    by_rare_word: defaultdict[str, list[int]] = defaultdict(list)
    for index, words in enumerate(texts):
        # Who joins the first that takes it, twins join together: no later member can be unlike one of them only.
        cluster = of_same_words.get(words)
        if cluster is not None:
            cluster.indices.append(index)
            continue
        prefix = _rarest(words, counts, threshold)
        near = sorted(set(chain.from_iterable(by_rare_word[word] for word in prefix)))
        cluster = next((found[place] for place in near if found[place].takes(words, threshold)), None)
        if cluster is None:
            cluster = _Cluster(words)
            for word in prefix:
                by_rare_word[word].append(len(found))
            found.append(cluster)
        cluster.add(index, words)
        if words:
            of_same_words[words] = cluster
    return [cluster.indices for cluster in found]


def _rarest(words: Words, counts: Counter[str], threshold: float) -> list[str]:
    # The margin keeps a product that was rounded up from hiding a word.
    needed = math.floor(threshold * len(words) - 1e-9) + 1
    return sorted(words, key=lambda word: (counts[word], word))[: len(words) - max(needed, 1) + 1]


class _Cluster:
    def __init__(self, first: Words) -> None:
        self.indices: list[int] = []
        self._first = first
        self._members: list[Words] = []
        self._common = first
        self._longest = 0

    def takes(self, words: Words, threshold: float) -> bool:
        """Whether all members are similar enough; what they have in common often tells without asking each."""
        if jaccard(words, self._first) <= threshold:
            return False
        surely = len(words & self._common)
        if surely / (len(words) + self._longest - surely) > threshold:
            return True
        return all(jaccard(words, member) > threshold for member in reversed(self._members))

    def add(self, index: int, words: Words) -> None:
        """Takes in a member."""
        self.indices.append(index)
        self._members.append(words)
        self._common &= words
        self._longest = max(self._longest, len(words))
