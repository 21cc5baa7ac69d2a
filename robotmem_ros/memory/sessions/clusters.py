"""Cluster sets of words greedily with complete linkage, without comparing all pairs.

A set joins the first cluster whose members all have a Jaccard similarity to it above the threshold; else it starts a
cluster. An inverted index of the first members gives the similarities to all of them at once, so that only clusters
with a similar first member are checked.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..text.statement import jaccard

Words = frozenset[str]


def clusters(texts: Sequence[Words], threshold: float) -> list[list[int]]:
    """Return the indices of the texts of each cluster, ascending; the clusters are in order of their first text.

    `threshold` is in [0, 1); texts without words stay alone.
    """
    result: list[_Cluster] = []
    of_same_words: dict[Words, _Cluster] = {}
    firsts = _Firsts()
    for index, words in enumerate(texts):
        # The same words always join the same cluster.
        cluster = of_same_words.get(words)
        if cluster is not None:
            cluster.indices.append(index)
            continue
        similar = (result[position] for position in firsts.similar(words, threshold))
        cluster = next((candidate for candidate in similar if candidate.takes(words, threshold)), None)
        if cluster is None:
            cluster = _Cluster()
            result.append(cluster)
            firsts.add(words)
        cluster.add(index, words)
        if words:
            of_same_words[words] = cluster
    return [cluster.indices for cluster in result]


class _Firsts:
    """The first members of the clusters, indexed by their words."""

    def __init__(self) -> None:
        self._sizes = array("i")
        self._positions: defaultdict[str, array[int]] = defaultdict(lambda: array("i"))

    def add(self, words: Words) -> None:
        """Add the first member of a new cluster."""
        for word in words:
            self._positions[word].append(len(self._sizes))
        self._sizes.append(len(words))

    def similar(self, words: Words, threshold: float) -> list[int]:
        """Return the positions of the sets with a similarity above the threshold, ascending."""
        holding = [np.frombuffer(self._positions[word], np.intc) for word in words if word in self._positions]
        if not holding:
            return []
        sizes = np.frombuffer(self._sizes, np.intc)
        common = np.bincount(np.concatenate(holding), minlength=len(sizes))
        positions: list[int] = np.flatnonzero(common / (len(words) + sizes - common) > threshold).tolist()
        return positions


class _Cluster:
    def __init__(self) -> None:
        self.indices: list[int] = []
        self._members: list[Words] = []
        self._common: Words = frozenset()
        self._longest = 0

    def takes(self, words: Words, threshold: float) -> bool:
        """Return whether all members have a similarity above the threshold; their common words often decide at once."""
        common = len(words & self._common)
        if common / (len(words) + self._longest - common) > threshold:
            return True
        return all(jaccard(words, member) > threshold for member in reversed(self._members))

    def add(self, index: int, words: Words) -> None:
        """Add a member."""
        self.indices.append(index)
        self._members.append(words)
        self._common = self._common & words if len(self._members) > 1 else words
        self._longest = max(self._longest, len(words))
