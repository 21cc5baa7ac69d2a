"""Greedy clustering with complete linkage over sets of words, without comparing all pairs.

A set joins the first cluster whose members are all more similar to it than the threshold, by Jaccard similarity; else
it begins one. To be similar to all it must be similar to the first: an inverted index of the first members gives the
similarity to each of them at once, and only the clusters that remain are looked into.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

Words = frozenset[str]


def jaccard(one: Words, other: Words) -> float:
    """Common words by all words; 0 where there is none."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def clusters(texts: Sequence[Words], threshold: float) -> list[list[int]]:
    """The indices of the texts in their clusters, in order; the first of each cluster comes first in the sequence.

    `threshold` lies in [0, 1); texts without words stay alone.
    """
    found: list[_Cluster] = []
    of_same_words: dict[Words, _Cluster] = {}
    firsts = _Firsts()
    for index, words in enumerate(texts):
        # Twins join together: no cluster that refused the first would take the second, nor the other way round.
        cluster = of_same_words.get(words)
        if cluster is not None:
            cluster.indices.append(index)
            continue
        near = (found[place] for place in firsts.near(words, threshold))
        cluster = next((one for one in near if one.takes(words, threshold)), None)
        if cluster is None:
            cluster = _Cluster()
            found.append(cluster)
            firsts.add(words)
        cluster.add(index, words)
        if words:
            of_same_words[words] = cluster
    return [cluster.indices for cluster in found]


class _Firsts:
    """The first members of the clusters, indexed by their words."""

    def __init__(self) -> None:
        self._sizes = array("i")
        self._places: defaultdict[str, array[int]] = defaultdict(lambda: array("i"))

    def add(self, words: Words) -> None:
        """Adds the first member of one more cluster."""
        for word in words:
            self._places[word].append(len(self._sizes))
        self._sizes.append(len(words))

    def near(self, words: Words, threshold: float) -> list[int]:
        """The places of those that are more similar than the threshold, in order."""
        holding = [np.frombuffer(self._places[word], np.intc) for word in words if word in self._places]
        if not holding:
            return []
        sizes = np.frombuffer(self._sizes, np.intc)
        common = np.bincount(np.concatenate(holding), minlength=len(sizes))
        # As jaccard() divides; where nothing is common, 0 exceeds no threshold.
        near: list[int] = np.flatnonzero(common / (len(words) + sizes - common) > threshold).tolist()
        return near


class _Cluster:
    def __init__(self) -> None:
        self.indices: list[int] = []
        self._members: list[Words] = []
        self._common: Words = frozenset()
        self._longest = 0

    def takes(self, words: Words, threshold: float) -> bool:
        """Whether all members are similar enough; what they have in common often tells without asking each."""
        surely = len(words & self._common)
        if surely / (len(words) + self._longest - surely) > threshold:
            return True
        return all(jaccard(words, member) > threshold for member in reversed(self._members))

    def add(self, index: int, words: Words) -> None:
        """Takes in a member."""
        self.indices.append(index)
        self._members.append(words)
        self._common = self._common & words if len(self._members) > 1 else words
        self._longest = max(self._longest, len(words))
