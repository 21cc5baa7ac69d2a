"""Clusters are those of comparing all pairs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory.sessions.consolidation import Words, clusters
from robotmem_ros.memory.text.statement import jaccard


def all_pairs(texts: Sequence[Words], threshold: float) -> list[list[int]]:
    """Cluster greedily with complete linkage; compare every text with every member."""
    found: list[list[int]] = []
    for index, words in enumerate(texts):
        for members in found:
            if all(alike(words, texts[member], threshold) for member in members):
                members.append(index)
                break
        else:
            found.append([index])
    return found


def alike(one: Words, other: Words, threshold: float) -> bool:
    return bool(one | other) and len(one & other) / len(one | other) > threshold


SETS = st.frozensets(st.sampled_from("abcdefghij"), max_size=8)


@settings(max_examples=400)
@given(texts=st.lists(SETS, max_size=40), threshold=st.sampled_from((0.0, 0.3, 0.5, 0.7, 0.95)) | st.floats(0.0, 0.99))
def test_clusters_are_those_of_all_pairs(texts: list[Words], threshold: float) -> None:
    assert clusters(texts, threshold) == all_pairs(texts, threshold)


@pytest.mark.parametrize("seed", range(4))
def test_clusters_of_many_texts_are_those_of_all_pairs(seed: int) -> None:
    draw = random.Random(seed)
    vocabulary = [f"word{n}" for n in range(30 * 4**seed)]
    topics = [draw.sample(vocabulary, 8) for _ in range(12)]
    texts = [frozenset(draw.sample(draw.choice(topics), 6) + draw.sample(vocabulary, 2)) for _ in range(700)]
    found = clusters(texts, 0.5)
    assert found == all_pairs(texts, 0.5)
    assert any(len(cluster) > 2 for cluster in found)


@given(texts=st.lists(SETS, max_size=30))
def test_every_pair_within_a_cluster_exceeds_the_threshold(texts: list[Words]) -> None:
    for cluster in clusters(texts, 0.5):
        assert all(jaccard(texts[one], texts[other]) > 0.5 for one in cluster for other in cluster if one != other)


def test_a_similarity_of_exactly_the_threshold_is_not_enough() -> None:
    assert clusters([frozenset("abc"), frozenset("abd")], 0.5) == [[0], [1]]
    assert clusters([frozenset("abc"), frozenset("abd")], 0.49) == [[0, 1]]
    assert clusters([frozenset(), frozenset()], 0.0) == [[0], [1]]
